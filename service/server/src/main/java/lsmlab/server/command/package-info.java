/** The service's command line: serve, make and inspect datasets, and list variants and engines. */
package lsmlab.server.command;
