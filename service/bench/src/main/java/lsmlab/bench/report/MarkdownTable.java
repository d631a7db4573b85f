package lsmlab.bench.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Comparisons as a Markdown table, and its place in a page between two markers. */
public final class MarkdownTable {

  private MarkdownTable() {}

  /** The table, a row a comparison. */
  public static String of(List<Comparison> comparisons) {
    StringBuilder table = new StringBuilder();
    table.append(
        "| metric | unit | ours | peer | | ratio (lowest … highest) | runs | wanted | |\n");
    table.append("|---|---|--:|--:|---|--:|--:|---|---|\n");
    for (Comparison row : comparisons) {
      Metric metric = Metric.named(row.metric()).orElseThrow();
      table
          .append("| ")
          .append(metric.text())
          .append(" | ")
          .append(row.unit())
          .append(" | ")
          .append(Numbers.text(row.ours()))
          .append(" | ")
          .append(Numbers.text(row.peer()))
          .append(" | ")
          .append(row.peerName())
          .append(" | ")
          .append(Numbers.text(row.ratio()))
          .append("× (")
          .append(Numbers.text(row.spread().getFirst()))
          .append(" … ")
          .append(Numbers.text(row.spread().getLast()))
          .append(") | ")
          .append(row.runs())
          .append(" | ")
          .append(row.target() == null ? "" : row.target())
          .append(" | ")
          .append(row.met() == null ? "" : row.met() ? "met" : "**not met**")
          .append(" |\n");
    }
    return table.toString();
  }

  /**
   * Replaces what stands between the markers of the page.
   *
   * @param section names the markers
   * @throws IOException if the page cannot be read or written, or lacks the markers; it is unchanged then
   */
  public static void update(Path page, String section, String content) throws IOException {
    String text = Files.readString(page);
    String beginMark = "<!-- " + section + ":begin -->";
    String endMark = "<!-- " + section + ":end -->";
    int begin = text.indexOf(beginMark);
    int end = text.indexOf(endMark);
    if (begin < 0 || end < begin) {
      throw new IOException(
          page + " needs the lines " + beginMark + " and " + endMark + ", in this order");
    }
    String updated =
        text.substring(0, begin + beginMark.length())
            + "\n"
            + content.strip()
            + "\n"
            + text.substring(end);
    Files.writeString(page, updated);
  }
}
