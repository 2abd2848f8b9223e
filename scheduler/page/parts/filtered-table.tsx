import { Button, Group, NativeSelect, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link, useSearchParams } from 'react-router';
import { type Choose, chosenIn, Columns, FacetField } from './choices.tsx';
import { type Facet, filterRows } from './facet.ts';
import { LongTable } from './long-table.tsx';
import { withoutChoices } from './narrow-query.ts';
import { SavedViews } from './saved-views.tsx';

export type Column<T> = {
  readonly name: string;
  /** For the file and the filter. */
  readonly text: (row: T) => string;
  /** What the table shows, where that is not the text. */
  readonly cell?: (row: T) => ReactNode;
};

/** An order of rows, by its value in `?sort=`. The first is the usual one. */
export type Order<T> = {
  readonly value: string;
  readonly label: string;
  readonly compare: (a: T, b: T) => number;
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
  /** Rows beyond those that were read, which the counts leave out. */
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
  const [query, setQuery] = useSearchParams();
  const choose: Choose = (key, value) => setQuery(chosenIn(key, value));
  const order = orders.find(({ value }) => value === query.get('sort')) ?? orders[0];
  const { found, choices } = filterRows(rows, facets, query);
  const sorted = order === undefined ? found : found.toSorted(order.compare);
  const [head, ...others] = columns;
  const chosen = query.get('columns')?.split(',');
  const shown = chosen === undefined ? others : others.filter(({ name }) => chosen.includes(name));
  if (head === undefined) return null;
  const cellsOf = (row: T): readonly string[] => [head, ...shown].map(({ text }) => text(row));
  const keys = facets.map(({ key }) => key);
  const isFiltered = keys.some((key) => query.has(key));
  return (
    <>
      <Text role="status">
        {found.length === rows.length
          ? `${rows.length} ${noun}`
          : `${found.length} of ${rows.length} ${noun}`}
        {hasMore && '; there are more, on the next page'}
      </Text>
      <Group align="end" gap="sm" my="sm" component="search" aria-label={`Filters of ${label}`}>
        {facets.map((facet) => (
          <FacetField
            key={facet.key}
            facet={facet}
            choices={choices.get(facet.key) ?? []}
            chosen={query.get(facet.key) ?? ''}
            choose={choose}
          />
        ))}
        {orders.length > 1 && (
          <NativeSelect
            label="Sort by"
            size="xs"
            value={order?.value ?? ''}
            onChange={({ currentTarget }) => choose('sort', currentTarget.value)}
            data={orders.map(({ value, label: text }) => ({ value, label: text }))}
          />
        )}
        <Columns all={others.map(({ name }) => name)} shown={shown.map(({ name }) => name)} choose={choose} />
        {isFiltered && (
          <Button component={Link} to={`?${withoutChoices(query, keys)}`} size="xs" variant="default">
            Show all
          </Button>
        )}
      </Group>
      <SavedViews />
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
