package lsmlab.server.command;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Prints names with their summaries, for people or for machines. */
final class Listing {

  /** One line of a listing. */
  record Item(String name, String summary) {}

  private Listing() {}

  static void print(PrintWriter out, List<Item> items, boolean json)
      throws JsonProcessingException {
    if (json) {
      List<Map<String, String>> objects = items.stream().map(Listing::object).toList();
      out.println(new ObjectMapper().writeValueAsString(objects));
    } else {
      int width = items.stream().mapToInt(item -> item.name().length()).max().orElse(1);
      for (Item item : items) {
        out.println(item.name() + " ".repeat(width + 2 - item.name().length()) + item.summary());
      }
    }
    out.flush();
  }

  private static Map<String, String> object(Item item) {
    Map<String, String> object = new LinkedHashMap<>();
    object.put("name", item.name());
    object.put("summary", item.summary());
    return object;
  }
}
