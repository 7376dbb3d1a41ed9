package io.jenkins.plugins.preemptible.overview.parts;

/** Where a plot is drawn, in the units of its drawing; for its page. */
public abstract class PlotFrame {

    private final int width;
    private final int height;
    private final int left;
    private final int right;
    private final int top;
    private final int bottom;

    /**
     * @param width of the drawing, {@code height} too
     * @param left edge of what is plotted, as the other three; labels stand outside of it
     */
    PlotFrame(int width, int height, int left, int right, int top, int bottom) {
        this.width = width;
        this.height = height;
        this.left = left;
        this.right = right;
        this.top = top;
        this.bottom = bottom;
    }

    public int getWidth() {
        return width;
    }

    public int getHeight() {
        return height;
    }

    public int getLeft() {
        return left;
    }

    public int getRight() {
        return right;
    }

    public int getTop() {
        return top;
    }

    public int getBottom() {
        return bottom;
    }
}
