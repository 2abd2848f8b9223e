import { Table } from '@mantine/core';
import { type CSSProperties, type ReactNode, useRef } from 'react';
import { rowsIn, SaveCsv } from './save-csv.tsx';

type Props = {
  /** Caption of the table for screen readers. */
  readonly label: string;
  readonly headings: readonly string[];
  /** Of a table that draws a part of its rows. */
  readonly rowCount?: number;
  /** Headings and rows for the file, where the table has fewer cells than it knows; null: no file. */
  readonly csv?: (() => readonly (readonly string[])[]) | null;
  readonly children: ReactNode;
};

/** The headings as texts for CSS: on a phone each row is a card, whose cells have them beside their content. */
const labelsOf = (headings: readonly string[]): CSSProperties =>
  Object.fromEntries(headings.map((heading, at) => [`--label-${at + 1}`, JSON.stringify(heading)]));

/** A table in a focusable frame that scrolls sideways, on a phone a card for each row; the page itself never scrolls sideways. A button saves its rows as CSV. */
export const Wide = ({ label, headings, rowCount, csv, children }: Props) => {
  const table = useRef<HTMLTableElement>(null);
  return (
    <div className="framed">
      {csv !== null && (
        <SaveCsv label={label} rows={csv ?? (() => (table.current === null ? [] : rowsIn(table.current)))} />
      )}
      <section className="wide" aria-label={label} tabIndex={0}>
        <Table
          ref={table}
          striped
          style={labelsOf(headings)}
          highlightOnHover
          {...(rowCount !== undefined && { 'aria-rowcount': rowCount })}
        >
          <Table.Thead>
            <Table.Tr>
              {headings.map((heading) => (
                <Table.Th key={heading} scope="col">
                  {heading}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>{children}</Table.Tbody>
        </Table>
      </section>
    </div>
  );
};
