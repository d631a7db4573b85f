package lsmlab.server.config;

/**
 * Thrown when a configuration cannot be used. The message is one line that names the file, the key and the allowed
 * values.
 */
public final class ConfigException extends Exception {
  private static final long serialVersionUID = 1L;

  public ConfigException(String message) {
    super(message);
  }
}
