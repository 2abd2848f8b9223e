import { Table } from '@mantine/core';
import type { ReactNode } from 'react';

type Props = {
  /** Caption of the table for screen readers. */
  readonly label: string;
  readonly headings: readonly string[];
  /** Of a table that draws a part of its rows. */
  readonly rowCount?: number;
  readonly children: ReactNode;
};

/** A table in a focusable frame that scrolls sideways; the page itself never does. */
export const Wide = ({ label, headings, rowCount, children }: Props) => (
  <section className="wide" aria-label={label} tabIndex={0}>
    <Table striped highlightOnHover {...(rowCount !== undefined && { 'aria-rowcount': rowCount })}>
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
);
