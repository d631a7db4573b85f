/**
 * The admin port: metrics, health, configuration, and maintenance of the engine. It is not part of the measured request
 * path.
 */
package lsmlab.server.admin;
