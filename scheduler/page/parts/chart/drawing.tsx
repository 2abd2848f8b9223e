import 'uplot/dist/uPlot.min.css';
import { useComputedColorScheme } from '@mantine/core';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import type { ChartColor, ChartData } from './chart-data.ts';

const HEIGHT = 160;
const HOUR = 3600;

/** Draws curves on a canvas: a canvas takes its colours from the scheme when it is drawn. */
const Drawing = ({ times, curves, form, most }: ChartData) => {
  const frame = useRef<HTMLDivElement>(null);
  const scheme = useComputedColorScheme('light', { getInitialValueInEffect: false });
  useEffect(() => {
    const place = frame.current;
    if (place === null) return;
    const data = { times, curves, form, most };
    const plot = new uPlot(optionsOf(data, place), dataOf(data), place);
    const observer = new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: HEIGHT }));
    observer.observe(place);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [times, curves, form, most, scheme]);
  return <div ref={frame} />;
};
export default Drawing;

/** Areas are drawn from the highest to the lowest, each down to zero over the one before. */
const drawn = ({ curves, form }: ChartData) => (form === 'areas' ? curves.toReversed() : curves);

const dataOf = (data: ChartData): uPlot.AlignedData => {
  const seconds = data.times.map((at) => Date.parse(at) / 1000);
  if (data.form === 'steps') return [seconds, ...data.curves.map(({ values }) => [...values])];
  const sums = seconds.map(() => 0);
  const stacked = data.curves.map(({ values }) =>
    values.map((value, index) => {
      const sum = (sums[index] ?? 0) + value;
      sums[index] = sum;
      return sum;
    }),
  );
  return [seconds, ...stacked.toReversed()];
};

const optionsOf = (data: ChartData, place: HTMLElement): uPlot.Options => {
  const style = getComputedStyle(place);
  const colorOf = (name: ChartColor | 'line'): string => style.getPropertyValue(`--${name}`);
  const axis: uPlot.Axis = {
    stroke: style.color,
    font: `12px ${style.fontFamily}`,
    grid: { stroke: colorOf('line'), width: 1 },
    ticks: { stroke: colorOf('line'), width: 1 },
  };
  return {
    width: place.clientWidth,
    height: HEIGHT,
    // Half of the last mark of the lower axis.
    padding: [null, 34, null, null],
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    scales: { y: { range: (_, __, max) => [0, Math.max(1, data.most ?? max)] } },
    axes: [
      { ...axis, space: 90, values: (_, marks) => marks.map((mark, at) => labelOf(mark, marks[at - 1])) },
      { ...axis, incrs: COUNTS },
    ],
    hooks: { setCursor: [showNewest], ready: [showNewest] },
    cursor: { drag: { x: false, y: false } },
    series: [
      { label: 'Time (UTC)', value: (_, seconds) => (seconds === null ? '' : isoOf(seconds)) },
      ...drawn(data).map(
        ({ name, color, values }, order): uPlot.Series => ({
          label: name,
          stroke: colorOf(color),
          width: 2,
          value: (_, __, ___, index) => (index === null ? '' : `${values[index] ?? ''}`),
          ...(data.form === 'areas'
            ? { fill: colorOf(color) }
            : {
                dash: DASHES[order % DASHES.length] ?? [],
                paths: stepped,
              }),
          points: { show: false },
        }),
      ),
    ],
  };
};

/** Without a pointer the legend has the newest values. */
const showNewest = (plot: uPlot): void => {
  if (plot.cursor.idx === null || plot.cursor.idx === undefined)
    plot.setLegend({ idx: plot.data[0].length - 1 }, false);
};

const stepped: uPlot.Series.PathBuilder = (plot, series, first, last) =>
  uPlot.paths.stepped?.({ align: 1 })(plot, series, first, last) ?? null;

/** Whole agents. */
const COUNTS = [1, 2, 5]
  .flatMap((digit) => [0, 1, 2, 3, 4, 5].map((zeros) => digit * 10 ** zeros))
  .toSorted((a, b) => a - b);
/** Tell lines apart without colours. */
const DASHES = [[], [8, 4], [2, 3], [12, 3, 2, 3]];

const isoOf = (seconds: number): string =>
  new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ');

/** The day, and the hour where two marks are of one day. */
const labelOf = (mark: number, before: number | undefined): string => {
  const iso = isoOf(mark);
  const isSameDay = before !== undefined && mark - before < 24 * HOUR;
  return isSameDay && iso.slice(11) !== '00:00' ? iso.slice(11) : iso.slice(0, 10);
};
