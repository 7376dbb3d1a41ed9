/**
 * What the pages of {@code overview} are made of: lists with their columns, cells and addresses; tables and plots of figures.
 *
 * <p>Used by {@code overview} alone. Nothing here knows a stage, an agent or a right: rows and figures are passed in, and each
 * request has objects of its own. Tests: {@code OverviewTest} in {@code overview}.
 */
package io.jenkins.plugins.preemptible.overview.parts;
