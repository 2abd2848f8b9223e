import { Table, Text, TextInput } from '@mantine/core';
import { defaultRangeExtractor, type Range, useWindowVirtualizer } from '@tanstack/react-virtual';
import {
  type FocusEvent,
  type ReactElement,
  type RefCallback,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { Wide } from './wide.tsx';

/** Most rows that are in the document all at once. */
const ALL = 100;
/** Height of a row that was never drawn, and rows that are drawn beyond the window. */
const ESTIMATE = 64;
const OVERSCAN = 20;

/** For a row of the table: in a long one its place, and the function that measures it. */
export type RowProps = {
  readonly 'data-index'?: number;
  readonly 'aria-rowindex'?: number;
  readonly ref?: RefCallback<HTMLTableRowElement>;
};

type Props<T> = {
  readonly label: string;
  readonly headings: readonly string[];
  readonly rows: readonly T[];
  /** The text that the filter looks in. */
  readonly textOf: (row: T) => string;
  /** Cells of a row for the file. */
  readonly cellsOf?: ((row: T) => readonly string[]) | undefined;
  /** A Table.Tr with a key and these properties. */
  readonly children: (row: T, props: RowProps) => ReactElement;
};

/** A table with all of its rows, or with the rows in the window and a filter if there are many. */
export const LongTable = <T,>({ rows, children, ...props }: Props<T>) =>
  rows.length <= ALL ? (
    <Wide label={props.label} headings={props.headings} {...csvOf(rows, props)}>
      {rows.map((row) => children(row, {}))}
    </Wide>
  ) : (
    <Filtered rows={rows} {...props}>
      {children}
    </Filtered>
  );

/** All rows, also those that are not in the document. */
const csvOf = <T,>(rows: readonly T[], { headings, cellsOf }: Pick<Props<T>, 'headings' | 'cellsOf'>) =>
  cellsOf === undefined ? {} : { csv: () => [headings, ...rows.map(cellsOf)] };

const Filtered = <T,>({ rows, textOf, ...props }: Props<T>) => {
  const [asked, setAsked] = useState('');
  const words = asked.toLowerCase().split(/\s+/);
  const found = rows.filter((row) => {
    const text = textOf(row).toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return (
    <>
      <TextInput
        label={`Filter ${props.label}`}
        description="Only the rows in the window are in the document: the browser's own search does not find the others."
        value={asked}
        onChange={({ currentTarget }) => setAsked(currentTarget.value)}
        my="sm"
      />
      <Text role="status">
        {found.length} of {rows.length} rows
      </Text>
      <Window rows={found} {...props} />
    </>
  );
};

type WindowProps<T> = Omit<Props<T>, 'textOf'>;

const Window = <T,>({ label, headings, rows, cellsOf, children }: WindowProps<T>) => {
  const frame = useRef<HTMLDivElement>(null);
  const [scrollMargin, setScrollMargin] = useState(0);
  const [focusedKey, setFocusedKey] = useState<string | null>(null);
  // By its key: when the rows are renewed, it may have another index.
  const focused = useMemo(
    () => (focusedKey === null ? -1 : rows.findIndex((row) => children(row, {}).key === focusedKey)),
    [rows, children, focusedKey],
  );
  useLayoutEffect(() => {
    setScrollMargin((frame.current?.getBoundingClientRect().top ?? 0) + window.scrollY);
  }, []);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ESTIMATE,
    overscan: OVERSCAN,
    scrollMargin,
    rangeExtractor: (range) => withFocused(range, focused),
  });
  const drawn = virtual.getVirtualItems();
  const after = virtual.getTotalSize() - ((drawn.at(-1)?.end ?? scrollMargin) - scrollMargin);
  const noteFocus = ({ target }: FocusEvent): void => {
    const row = rows[Number(target.closest<HTMLElement>('[data-index]')?.dataset['index'] ?? -1)];
    if (row !== undefined) setFocusedKey(children(row, {}).key);
  };
  return (
    <div ref={frame} onFocus={noteFocus}>
      {/* The heading is the first row. */}
      <Wide
        label={label}
        headings={headings}
        rowCount={rows.length + 1}
        csv={null}
        {...csvOf(rows, { headings, cellsOf })}
      >
        {drawn.flatMap(({ index, start }, at) => {
          const row = rows[index];
          if (row === undefined) return [];
          const height = start - (drawn[at - 1]?.end ?? scrollMargin);
          return [
            <Space key={`before ${index}`} height={height} columns={headings.length} />,
            children(row, {
              'data-index': index,
              'aria-rowindex': index + 2,
              ref: virtual.measureElement,
            }),
          ];
        })}
        <Space height={after} columns={headings.length} />
      </Wide>
    </div>
  );
};

/**
 * The rows in the window, and those around the row that had the focus last: the focus would be lost with its row when that is scrolled away,
 * and Tab would leave the table at the last row that is drawn.
 */
const withFocused = (range: Range, focused: number): number[] => {
  const inWindow = defaultRangeExtractor(range);
  if (focused < 0) return inWindow;
  const around = defaultRangeExtractor({ ...range, startIndex: focused, endIndex: focused });
  return [...new Set([...inWindow, ...around])].toSorted((a, b) => a - b);
};

/** In place of rows that are not drawn. */
const Space = ({ height, columns }: { readonly height: number; readonly columns: number }) =>
  height > 0 && (
    <Table.Tr aria-hidden="true">
      <Table.Td colSpan={columns} h={height} p={0} />
    </Table.Tr>
  );
