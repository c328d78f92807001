import io.debezium.config.Configuration;
import io.debezium.connector.oracle.OracleConnectorConfig;
import io.debezium.connector.oracle.logminer.parser.LogMinerDmlParser;
import io.debezium.relational.Column;
import io.debezium.relational.Table;
import io.debezium.relational.TableEditor;
import io.debezium.relational.TableId;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Time Debezium's parser: arguments are a file of statements, separated by NUL, and the table's columns. Prints the CPU seconds of each pass. */
public class DebeziumParser {
    private static final int PASSES = 8;

    public static void main(String[] arguments) throws Exception {
        List<String> statements = List.of(Files.readString(Path.of(arguments[0]), StandardCharsets.UTF_8).split("\0"));
        TableEditor editor = Table.editor().tableId(TableId.parse("APP.ORDERS"));
        for (String name : arguments[1].split(",")) {
            editor.addColumn(Column.editor().name(name).create());
        }
        Table table = editor.create();
        LogMinerDmlParser parser = new LogMinerDmlParser(new OracleConnectorConfig(Configuration.empty()));
        var clock = ManagementFactory.getThreadMXBean();
        long values = 0;
        for (int pass = 0; pass < PASSES; pass++) {
            long began = clock.getCurrentThreadCpuTime();
            for (String statement : statements) {
                values += parser.parse(statement, table).getNewValues().length;
            }
            System.out.println((clock.getCurrentThreadCpuTime() - began) / 1e9);
        }
        System.err.println(values + " values");
    }
}
