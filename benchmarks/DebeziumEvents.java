import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import java.io.FileReader;
import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;

/**
 * Run Debezium's engine until it has given a number of events of rows: arguments are the file of its properties and the number. Prints
 * "event" for the first one, then the seconds from Java's start to the first and the last, CPU seconds, and the events by operation.
 */
public class DebeziumEvents {
    private static final Map<String, Long> OPERATIONS = new TreeMap<>();
    private static long first = 0;
    private static long last = 0;
    private static long left = 0;

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        properties.load(new FileReader(arguments[0]));
        left = Long.parseLong(arguments[1]);
        var done = new CountDownLatch(1);
        DebeziumEngine<ChangeEvent<String, String>> engine = DebeziumEngine.create(Json.class)
                .using(properties)
                .using((success, message, error) -> {
                    if (!success) {
                        System.out.println("failed " + message + " " + error);
                    }
                    done.countDown();
                })
                .notifying(event -> count(event.value(), done))
                .build();
        Thread thread = new Thread(engine);
        thread.start();
        done.await();
        long started = ManagementFactory.getRuntimeMXBean().getStartTime();
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        System.out.printf("figures %.3f %.3f %.3f %s%n", (first - started) / 1e3, (last - started) / 1e3, system.getProcessCpuTime() / 1e9,
                OPERATIONS.toString().replace(" ", ""));
        if (left == 0) {
            engine.close();
            thread.join(30_000);
        }
        System.exit(0);
    }

    private static void count(String value, CountDownLatch done) {
        int at = value == null ? -1 : value.lastIndexOf("\"op\":\"");
        if (at < 0 || left == 0) {
            return; // a tombstone, or a change of a table's columns
        }
        last = System.currentTimeMillis();
        if (first == 0) {
            first = last;
            System.out.println("event");
        }
        OPERATIONS.merge(value.substring(at + 6, at + 7), 1L, Long::sum);
        if (--left == 0) {
            done.countDown();
        }
    }
}
