package lsmlab.server.config;

/** A configuration that cannot be used. The message is one line that names the file, the key and what is allowed. */
public final class ConfigException extends Exception {
  private static final long serialVersionUID = 1L;

  public ConfigException(String message) {
    super(message);
  }
}
