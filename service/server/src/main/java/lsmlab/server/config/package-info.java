/** Reads {@code service.yaml}: its keys, defaults and ranges. */
package lsmlab.server.config;
