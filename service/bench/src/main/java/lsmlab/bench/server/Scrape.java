package lsmlab.bench.server;

import java.util.LinkedHashMap;
import java.util.Map;

/** One reading of the admin port's metrics: sample by name with labels, as the text has them. */
record Scrape(Map<String, Double> samples) {

  static Scrape of(String text) {
    Map<String, Double> samples = new LinkedHashMap<>();
    text.lines()
        .filter(line -> !line.startsWith("#"))
        .forEach(
            line -> {
              int space = line.lastIndexOf(' ');
              samples.put(line.substring(0, space), Double.parseDouble(line.substring(space + 1)));
            });
    return new Scrape(samples);
  }

  /** The sample, 0 where there is none yet. */
  double value(String sample) {
    return samples.getOrDefault(sample, 0.0);
  }

  /**
   * A quantile of what a histogram has counted since an earlier scrape: the upper bound of the bucket that holds it, NaN
   * where nothing was counted.
   *
   * @param labels without {@code le}, as in the text: {@code method="get",stage="total"}
   */
  double quantile(Scrape before, String histogram, String labels, double q) {
    double count =
        value(histogram + "_count{" + labels + "}")
            - before.value(histogram + "_count{" + labels + "}");
    if (count <= 0) {
      return Double.NaN;
    }
    String prefix = histogram + "_bucket{" + labels + ",le=\"";
    for (Map.Entry<String, Double> sample : samples.entrySet()) {
      if (sample.getKey().startsWith(prefix)
          && sample.getValue() - before.value(sample.getKey()) >= q * count) {
        String le = sample.getKey().substring(prefix.length(), sample.getKey().length() - 2);
        return le.equals("+Inf") ? Double.POSITIVE_INFINITY : Double.parseDouble(le);
      }
    }
    throw new IllegalStateException(histogram + " counts more than its last bucket");
  }
}
