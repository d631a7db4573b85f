/** The admin port: metrics, health, configuration, and the engine's maintenance; off the measured path. */
package lsmlab.server.admin;
