package io.jenkins.plugins.preemptible.overview.parts;

import java.util.Comparator;
import java.util.function.Function;

/**
 * One column of a list.
 *
 * @param id in addresses, unique in its list
 * @param title for people
 * @param order of the rows when the list is sorted by this column
 * @param cell what it shows of a row
 */
public record Column<T>(String id, String title, Comparator<T> order, Function<T, Cell> cell) {}
