#!/usr/bin/env bash
# Oracle's JDBC driver rounds a double to fifteen digits when it makes a NUMBER of it: 9007199254740991 becomes ..990.
#
# Versions: ojdbc11 23.26.0.0.0 (oracle.sql.NUMBER, no database). Needs Java 17 and Maven.
# Expected: a double has up to 17 significant digits, a NUMBER 38; every double of ordinary size fits without loss, and new NUMBER(d).doubleValue()
#   is d again. Java's own new BigDecimal(d) and Double.toString(d) both keep it.
# Seen: the sixteenth and seventeenth digit are rounded away: whole numbers above 10^15 change, and 1/3 comes back as another double. NUMBER made
#   of a BigDecimal keeps all 38 digits, and BINARY_DOUBLE keeps the double. 1e23 happens to survive, so a test of round numbers shows nothing.
# Matters: whoever encodes doubles of a lake for a NUMBER column or compares them with one: identifiers above 10^15 that some step took for doubles
#   (JSON, pandas with NULLs, Spark's inferred schemas) point at another row.
# Workaround: new NUMBER(new BigDecimal(Double.toString(d))), which is exact below; or BINARY_DOUBLE columns.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
version=23.26.0.0.0
mvn --quiet --batch-mode -Dmaven.repo.local="$work/repository" dependency:get -Dtransitive=false \
    -Dartifact="com.oracle.database.jdbc:ojdbc11:$version"
cat > Codec.java <<'JAVA'
import java.math.BigDecimal;
import oracle.sql.BINARY_DOUBLE;
import oracle.sql.NUMBER;

public class Codec {
    static void same(Object seen, Object expected) {
        if (!seen.equals(expected)) {
            System.out.println("CHANGED: " + seen + ", was " + expected);
            System.exit(1);
        }
    }

    public static void main(String[] arguments) throws Exception {
        double key = 9007199254740991.0;
        double third = 1.0 / 3;
        String number = new NUMBER(key).stringValue();
        System.out.println(key + " -> " + number + "; " + third + " -> " + new NUMBER(third).doubleValue());
        same(number, "9007199254740990");
        same(new NUMBER(third).doubleValue() == third, false);
        same(new NUMBER(1e23).doubleValue(), 1e23);
        for (double value : new double[] {key, third}) {
            same(new NUMBER(new BigDecimal(Double.toString(value))).doubleValue(), value);
            same(new BINARY_DOUBLE(value).doubleValue(), value);
        }
        same(new NUMBER(new BigDecimal("12345678901234567890123456789012345678")).stringValue(), "12345678901234567890123456789012345678");
        System.out.println("SEEN: new NUMBER(9007199254740991.0) is " + number);
    }
}
JAVA
java -cp "$work/repository/com/oracle/database/jdbc/ojdbc11/$version/ojdbc11-$version.jar" Codec.java
