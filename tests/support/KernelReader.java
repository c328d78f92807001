// Reads Delta tables by delta-kernel: a question in a line of standard input as JSON, its answer in a line of standard output.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.delta.kernel.Scan;
import io.delta.kernel.ScanBuilder;
import io.delta.kernel.Snapshot;
import io.delta.kernel.Table;
import io.delta.kernel.data.ColumnVector;
import io.delta.kernel.data.ColumnarBatch;
import io.delta.kernel.data.FilteredColumnarBatch;
import io.delta.kernel.data.Row;
import io.delta.kernel.defaults.engine.DefaultEngine;
import io.delta.kernel.engine.Engine;
import io.delta.kernel.engine.FileReadResult;
import io.delta.kernel.expressions.Column;
import io.delta.kernel.expressions.Expression;
import io.delta.kernel.expressions.In;
import io.delta.kernel.expressions.Literal;
import io.delta.kernel.expressions.Predicate;
import io.delta.kernel.internal.InternalScanFileUtils;
import io.delta.kernel.internal.data.ScanStateRow;
import io.delta.kernel.internal.util.Utils;
import io.delta.kernel.types.*;
import io.delta.kernel.utils.CloseableIterator;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;

public class KernelReader {
  static final ObjectMapper JSON = new ObjectMapper();
  static final Engine ENGINE = DefaultEngine.create(new Configuration());

  public static void main(String[] arguments) throws Exception {
    var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    var out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (String line; (line = in.readLine()) != null; ) {
      ObjectNode answer = JSON.createObjectNode();
      try {
        answer.set("rows", rows(JSON.readTree(line)));
      } catch (Throwable refused) {
        answer.put("error", refused.getClass().getSimpleName()).put("text", String.valueOf(refused.getMessage()));
      }
      out.println(JSON.writeValueAsString(answer));
    }
  }

  static ArrayNode rows(JsonNode asked) throws Exception {
    Table table = Table.forPath(ENGINE, asked.get("path").asText());
    Snapshot snapshot =
        asked.has("millis")
            ? table.getSnapshotAsOfTimestamp(ENGINE, asked.get("millis").asLong())
            : asked.has("version") ? table.getSnapshotAsOfVersion(ENGINE, asked.get("version").asLong()) : table.getLatestSnapshot(ENGINE);
    ScanBuilder builder = snapshot.getScanBuilder();
    Optional<Predicate> filter = asked.has("column") ? Optional.of(predicate(asked)) : Optional.empty();
    if (filter.isPresent()) builder = builder.withFilter(filter.get());
    Scan scan = builder.build();
    Row state = scan.getScanState(ENGINE);
    StructType physical = ScanStateRow.getPhysicalDataReadSchema(state);
    ArrayNode found = JSON.createArrayNode();
    try (CloseableIterator<FilteredColumnarBatch> batches = scan.getScanFiles(ENGINE)) {
      while (batches.hasNext()) {
        try (CloseableIterator<Row> files = batches.next().getRows()) {
          while (files.hasNext()) {
            Row file = files.next();
            var one = Utils.singletonCloseableIterator(InternalScanFileUtils.getAddFileStatus(file));
            CloseableIterator<FileReadResult> read = ENGINE.getParquetHandler().readParquetFiles(one, physical, Optional.empty());
            try (var parts = Scan.transformPhysicalData(ENGINE, state, file, read.map(FileReadResult::getData))) {
              while (parts.hasNext()) collect(parts.next(), filter, found);
            }
          }
        }
      }
    }
    return found;
  }

  // The kernel chooses files; that it leaves the rows to its caller is part of its contract, and it has the evaluator for them.
  static void collect(FilteredColumnarBatch part, Optional<Predicate> filter, ArrayNode found) {
    ColumnarBatch data = part.getData();
    Optional<ColumnVector> chosen = part.getSelectionVector();
    if (filter.isPresent()) {
      chosen = Optional.of(ENGINE.getExpressionHandler().getPredicateEvaluator(data.getSchema(), filter.get()).eval(data, chosen));
    }
    for (int n = 0; n < data.getSize(); n++) {
      if (chosen.isPresent() && (chosen.get().isNullAt(n) || !chosen.get().getBoolean(n))) continue;
      ObjectNode row = found.addObject();
      for (int c = 0; c < data.getSchema().length(); c++) {
        ArrayNode cell = row.putArray(data.getSchema().at(c).getName()).add(data.getSchema().at(c).getDataType().toString());
        ColumnVector values = data.getColumnVector(c);
        cell.add(values.isNullAt(n) ? null : text(values, n));
      }
    }
  }

  static String text(ColumnVector values, int n) {
    DataType type = values.getDataType();
    if (type instanceof IntegerType || type instanceof DateType) return String.valueOf(values.getInt(n));
    if (type instanceof LongType || type instanceof TimestampType || type instanceof TimestampNTZType)
      return String.valueOf(values.getLong(n));
    if (type instanceof DecimalType) return values.getDecimal(n).toPlainString();
    if (type instanceof DoubleType) return String.valueOf(values.getDouble(n));
    if (type instanceof FloatType) return String.valueOf(values.getFloat(n));
    if (type instanceof BooleanType) return String.valueOf(values.getBoolean(n));
    if (type instanceof BinaryType) return HexFormat.of().formatHex(values.getBinary(n));
    if (type instanceof StringType) return values.getString(n);
    throw new IllegalStateException(type.toString());
  }

  static Predicate predicate(JsonNode asked) {
    Column column = new Column(asked.get("column").asText());
    String type = asked.get("type").asText(), operator = asked.get("operator").asText();
    List<Expression> values = new ArrayList<>();
    for (JsonNode value : asked.get("values")) values.add(literal(value.asText(), type));
    return switch (operator) {
      case "IS NULL" -> new Predicate("IS_NULL", column);
      case "IN" -> new In(column, values);
      case "BETWEEN" ->
          new Predicate("AND", new Predicate(">=", column, values.get(0)), new Predicate("<=", column, values.get(1)));
      default -> new Predicate(operator, column, values.get(0));
    };
  }

  static Literal literal(String text, String type) {
    if (type.startsWith("decimal")) {
      String[] parts = type.substring(8, type.length() - 1).split(",");
      int precision = Integer.parseInt(parts[0]), scale = Integer.parseInt(parts[1]);
      return Literal.ofDecimal(new BigDecimal(text).setScale(scale), precision, scale);
    }
    return switch (type) {
      case "int" -> Literal.ofInt(Integer.parseInt(text));
      case "bigint" -> Literal.ofLong(Long.parseLong(text));
      case "double" -> Literal.ofDouble(Double.parseDouble(text));
      case "float" -> Literal.ofFloat(Float.parseFloat(text));
      case "boolean" -> Literal.ofBoolean(Boolean.parseBoolean(text));
      case "binary" -> Literal.ofBinary(HexFormat.of().parseHex(text));
      case "timestamp" -> Literal.ofTimestamp(Long.parseLong(text));
      case "timestamp_ntz" -> Literal.ofTimestampNtz(Long.parseLong(text));
      default -> Literal.ofString(text);
    };
  }
}
