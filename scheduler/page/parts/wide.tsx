import { Table } from '@mantine/core';
import { type ReactNode, useRef } from 'react';
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

/** A table in a focusable frame that scrolls sideways; the page itself never does. A button saves its rows as CSV. */
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
