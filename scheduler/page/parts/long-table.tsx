import { Table, Text, TextInput } from '@mantine/core';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, type RefCallback, useLayoutEffect, useRef, useState } from 'react';
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
  readonly children: (row: T, props: RowProps) => ReactNode;
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
  useLayoutEffect(() => {
    setScrollMargin((frame.current?.getBoundingClientRect().top ?? 0) + window.scrollY);
  }, []);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ESTIMATE,
    overscan: OVERSCAN,
    scrollMargin,
  });
  const drawn = virtual.getVirtualItems();
  const before = (drawn[0]?.start ?? scrollMargin) - scrollMargin;
  const after = virtual.getTotalSize() - ((drawn.at(-1)?.end ?? scrollMargin) - scrollMargin);
  return (
    <div ref={frame}>
      {/* The heading is the first row. */}
      <Wide
        label={label}
        headings={headings}
        rowCount={rows.length + 1}
        csv={null}
        {...csvOf(rows, { headings, cellsOf })}
      >
        <Space height={before} columns={headings.length} />
        {drawn.map(({ index }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return children(row, {
            'data-index': index,
            'aria-rowindex': index + 2,
            ref: virtual.measureElement,
          });
        })}
        <Space height={after} columns={headings.length} />
      </Wide>
    </div>
  );
};

/** In place of rows that are not drawn. */
const Space = ({ height, columns }: { readonly height: number; readonly columns: number }) =>
  height > 0 && (
    <Table.Tr aria-hidden="true">
      <Table.Td colSpan={columns} h={height} p={0} />
    </Table.Tr>
  );
