/** The service as a process: its command line, its configuration, and how its parts are started and stopped. */
package lsmlab.server;
