import { Table } from '@mantine/core';
import type { ReactNode } from 'react';
import { useSearchParams } from 'react-router';
import { type Facet, filterRows } from './facet.ts';
import { Filters } from './filters.tsx';
import { LongTable } from './long-table.tsx';
import { type Order, sortRows } from './order.ts';

export type Column<T> = {
  readonly name: string;
  /** For the file and the filter. */
  readonly text: (row: T) => string;
  /** What the table shows, where that is not the text. */
  readonly cell?: (row: T) => ReactNode;
};

type Props<T> = {
  readonly label: string;
  /** What a row is, in the plural. */
  readonly noun: string;
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** The first column heads its row and is always shown. */
  readonly columns: readonly Column<T>[];
  readonly facets: readonly Facet<T>[];
  readonly orders: readonly Order<T>[];
  /** Whether there are rows beyond those that were read, which the counts leave out. */
  readonly hasMore: boolean;
};

/** A table with choices and counts, order and columns, all in the address, so that it can be saved as a view or sent. */
export const FilteredTable = <T,>({
  label,
  noun,
  rows,
  keyOf,
  columns,
  facets,
  orders,
  hasMore,
}: Props<T>) => {
  const [query] = useSearchParams();
  const filtered = filterRows(rows, facets, query);
  const { sorted, order } = sortRows(filtered.found, orders, query);
  const [head, ...others] = columns;
  const chosen = query.get('columns')?.split(',');
  const shown = chosen === undefined ? others : others.filter(({ name }) => chosen.includes(name));
  if (head === undefined) return null;
  const cellsOf = (row: T): readonly string[] => [head, ...shown].map(({ text }) => text(row));
  return (
    <>
      <Filters
        label={`Filters of ${label}`}
        noun={noun}
        total={rows.length}
        hasMore={hasMore}
        facets={facets}
        filtered={filtered}
        orders={orders}
        order={order}
        columns={others.map(({ name }) => name)}
        shown={shown.map(({ name }) => name)}
      />
      <LongTable
        label={label}
        headings={[head, ...shown].map(({ name }) => name)}
        rows={sorted}
        textOf={(row) => cellsOf(row).join(' ')}
        cellsOf={cellsOf}
      >
        {(row, props) => (
          <Table.Tr key={keyOf(row)} {...props}>
            <Table.Th scope="row">{head.cell?.(row) ?? head.text(row)}</Table.Th>
            {shown.map(({ name, cell, text }) => (
              <Table.Td key={name}>{cell === undefined ? text(row) : cell(row)}</Table.Td>
            ))}
          </Table.Tr>
        )}
      </LongTable>
    </>
  );
};
