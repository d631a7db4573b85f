package lsmlab.profiler;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import one.convert.Arguments;
import one.convert.CallStack;
import one.convert.FlameGraph;
import one.convert.Frame;
import one.convert.JfrConverter;
import one.jfr.JfrReader;
import one.jfr.StackTrace;
import one.jfr.event.AllocationSample;
import one.jfr.event.Event;
import one.jfr.event.EventCollector;

/**
 * Every sample of one event, by tenth of a second, thread and stack. Both flame graphs are made of the same samples, so
 * that their numbers cannot differ from the table's.
 *
 * <p>The table is text. Each line begins with its kind, tabs separate its fields, and an id is the number of a line
 * among those of its kind:
 *
 * <pre>
 *   F name                                  a frame, with the suffix of its tier: _[j] _[i] _[0] _[1] _[k]
 *   T name                                  a thread
 *   N parent frame                          a node of the tree of calls; parent 0 is the root, the first node is 1
 *   S tenth thread node samples value       the samples of one stack; tenth is in tenths of a second since the recording
 *                                           or, with --from, the window began
 * </pre>
 */
final class SampleTable extends JfrConverter {

  /** Stands for a stack that the recording refers to but does not contain. */
  private static final String STACK_MISSING = "[no_stack]";

  private static final long TENTH_NANOS = 100_000_000L;

  private record Sample(int tenth, String thread, int node) {}

  /** Wall-clock samples of a thread that stayed asleep: one event with the time of the first sample. */
  private record Batch(long nanos, long taken, String thread, int node) {}

  private record Edge(int parent, int frame) {}

  /** Holds the events of one chunk, with the time base of that chunk. */
  private static final class Buffer implements EventCollector {
    final List<Event> events = new ArrayList<>();
    final List<Long> times = new ArrayList<>();
    private final JfrReader jfr;

    Buffer(JfrReader jfr) {
      this.jfr = jfr;
    }

    @Override
    public void collect(Event event) {
      events.add(event);
      times.add(jfr.eventTimeToNanos(event.time));
    }

    @Override
    public void beforeChunk() {
      events.clear();
      times.clear();
    }

    @Override
    public void afterChunk() {}

    @Override
    public boolean finish() {
      return false;
    }

    @Override
    public void forEach(Visitor visitor) {
      throw new UnsupportedOperationException("the events are read from the buffer");
    }
  }

  private final FlameGraph flames;
  private final FlameGraph flamesByThread;
  /** Consecutive frames that match become one frame; null keeps all frames. */
  private final Pattern folded;
  /** Whether a stack ends in the class of the allocated or locked object. */
  private final boolean weighted;

  /** The window of time, since the recording's start. */
  private final long fromNanos;

  private final long toNanos;

  /** The interval of wall-clock samples; 0 if none were recorded. */
  private long wallNanos;

  private final Map<String, Integer> frames = new HashMap<>();
  private final List<String> frameNames = new ArrayList<>();
  private final Map<Edge, Integer> nodes = new HashMap<>();
  private final List<Edge> edges = new ArrayList<>();
  private final Map<Sample, long[]> samples = new HashMap<>();
  private final Map<Integer, List<Batch>> batches = new HashMap<>();

  private SampleTable(JfrReader jfr, Arguments arguments, Arguments argumentsByThread, Pattern folded) {
    super(jfr, arguments);
    this.flames = new FlameGraph(arguments);
    this.flamesByThread = new FlameGraph(argumentsByThread);
    this.folded = folded;
    this.fromNanos = arguments.from * 1_000_000;
    this.toNanos = arguments.to > 0 ? arguments.to * 1_000_000 : Long.MAX_VALUE;
    this.weighted = arguments.total;
  }

  /**
   * Writes {@code BASE.samples}, {@code BASE.html} and {@code BASE-threads.html}.
   *
   * @param fold a regular expression of frames to leave out, empty for none
   * @param words the converter's options
   */
  static void write(String recording, String base, String fold, String[] words) throws IOException {
    Pattern folded = fold.isEmpty() ? null : Pattern.compile(fold);
    Arguments byThread = new Arguments(words);
    byThread.threads = true;
    try (JfrReader jfr = new RecordingReader(recording)) {
      SampleTable table = new SampleTable(jfr, new Arguments(words), byThread, folded);
      table.convert();
      table.batches.values().forEach(table::spread);
      table.dump(base);
    }
  }

  @Override
  protected EventCollector createCollector(Arguments arguments) {
    return new Buffer(jfr);
  }

  @Override
  protected void convertChunk() {
    Buffer buffer = (Buffer) collector;
    double factor = weighted ? counterFactor() : 1;
    String interval = jfr.settings.get("wall");
    wallNanos = interval != null && interval.matches("\\d+") ? Long.parseLong(interval) : 0;
    for (int i = 0; i < buffer.events.size(); i++) {
      Event event = buffer.events.get(i);
      long value = weighted ? (long) (event.value() * factor) : event.samples();
      // Freeing a block of native memory is an event too, with a value of 0 bytes.
      if (value > 0) {
        add(event, buffer.times.get(i) - jfr.startNanos - fromNanos, value);
      }
    }
  }

  private void add(Event event, long nanos, long value) {
    String thread = getThreadName(event.tid);
    CallStack stack = new CallStack();
    CallStack stackOfThread = new CallStack();
    stackOfThread.push(thread, Frame.TYPE_NATIVE);
    int node = 0;
    boolean foldedBefore = false;
    StackTrace trace = jfr.stackTraces.get(event.stackTraceId);
    int depth = trace == null ? 0 : trace.methods.length;
    for (int i = depth; --i >= 0; ) {
      byte type = trace.types[i];
      String name = getMethodName(trace.methods[i], type);
      node = child(node, name + suffix(type));
      boolean foldedHere = folded != null && folded.matcher(name).find();
      if (!foldedHere || !foldedBefore) {
        String shown = foldedHere ? "[downcall]" : name;
        stack.push(shown, foldedHere ? Frame.TYPE_NATIVE : type);
        stackOfThread.push(shown, foldedHere ? Frame.TYPE_NATIVE : type);
      }
      foldedBefore = foldedHere;
    }
    if (depth == 0) {
      node = child(0, STACK_MISSING);
      stack.push(STACK_MISSING, Frame.TYPE_NATIVE);
      stackOfThread.push(STACK_MISSING, Frame.TYPE_NATIVE);
    }
    long classId = event.classId();
    if (classId != 0) {
      String name = getClassName(classId);
      byte type = event instanceof AllocationSample sample && sample.tlabSize == 0 ? Frame.TYPE_KERNEL : Frame.TYPE_INLINED;
      node = child(node, name + suffix(type));
      stack.push(name, type);
      stackOfThread.push(name, type);
    }
    flames.addSample(stack, value);
    flamesByThread.addSample(stackOfThread, value);
    if (args.wall) {
      batches.computeIfAbsent(event.tid, tid -> new ArrayList<>()).add(new Batch(nanos, event.samples(), thread, node));
    } else {
      count(nanos, thread, node, event.samples(), value);
    }
  }

  /** Counts samples taken {@code nanos} after the window's begin; the last of a batch may lie beyond its end. */
  private void count(long nanos, String thread, int node, long taken, long value) {
    if (nanos >= toNanos - fromNanos) {
      return;
    }
    Sample sample = new Sample((int) (Math.max(0, nanos) / TENTH_NANOS), thread, node);
    long[] sums = samples.computeIfAbsent(sample, key -> new long[2]);
    sums[0] += taken;
    sums[1] += value;
  }

  /**
   * Gives each sample of a batch its own time. The samples are spread evenly until the thread's next sample, which it took
   * when it woke, or until the end of the recording. If they would lie more than twice the requested interval apart, as
   * after the end of a thread, they lie the requested interval apart.
   */
  private void spread(List<Batch> ofThread) {
    ofThread.sort(Comparator.comparingLong(Batch::nanos));
    for (int i = 0; i < ofThread.size(); i++) {
      Batch batch = ofThread.get(i);
      long end = i + 1 < ofThread.size() ? ofThread.get(i + 1).nanos : jfr.durationNanos() - fromNanos;
      long measured = Math.max(0, end - batch.nanos) / batch.taken;
      long step = measured > 2 * wallNanos ? wallNanos : measured;
      for (long k = 0; k < batch.taken; k++) {
        count(batch.nanos + k * step, batch.thread, batch.node, 1, 1);
      }
    }
  }

  private int child(int parent, String frame) {
    Integer id = frames.get(frame);
    if (id == null) {
      frameNames.add(frame);
      id = frameNames.size();
      frames.put(frame, id);
    }
    Edge edge = new Edge(parent, id);
    Integer node = nodes.get(edge);
    if (node == null) {
      edges.add(edge);
      node = edges.size();
      nodes.put(edge, node);
    }
    return node;
  }

  private static String suffix(byte type) {
    return switch (type) {
      case Frame.TYPE_INTERPRETED -> "_[0]";
      case Frame.TYPE_JIT_COMPILED -> "_[j]";
      case Frame.TYPE_INLINED -> "_[i]";
      case Frame.TYPE_C1_COMPILED -> "_[1]";
      case Frame.TYPE_KERNEL -> "_[k]";
      default -> "";
    };
  }

  private void dump(String base) throws IOException {
    try (PrintStream out = new PrintStream(base + ".html", StandardCharsets.UTF_8)) {
      flames.dump(out);
    }
    try (PrintStream out = new PrintStream(base + "-threads.html", StandardCharsets.UTF_8)) {
      flamesByThread.dump(out);
    }
    Map<String, Integer> threads = new HashMap<>();
    try (BufferedWriter out = Files.newBufferedWriter(Path.of(base + ".samples"))) {
      for (String name : frameNames) {
        out.write("F\t" + onOneLine(name) + "\n");
      }
      for (Edge edge : edges) {
        out.write("N\t" + edge.parent + "\t" + edge.frame + "\n");
      }
      for (Map.Entry<Sample, long[]> entry : samples.entrySet()) {
        Sample sample = entry.getKey();
        Integer thread = threads.get(sample.thread);
        if (thread == null) {
          thread = threads.size() + 1;
          threads.put(sample.thread, thread);
          out.write("T\t" + onOneLine(sample.thread) + "\n");
        }
        long[] sums = entry.getValue();
        out.write("S\t" + sample.tenth + "\t" + thread + "\t" + sample.node + "\t" + sums[0] + "\t" + sums[1] + "\n");
      }
    }
  }

  /** Replaces characters that separate lines, fields or frames: a thread's name may contain them. */
  private static String onOneLine(String name) {
    return name.replaceAll("[\\t\\r\\n;]", " ");
  }
}
