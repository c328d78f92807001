"""What all sessions share: tables, keys, redo threads; how a database begins, is rewound and is closed."""
