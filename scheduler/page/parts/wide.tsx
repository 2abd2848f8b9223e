import { Table } from '@mantine/core';
import type { ReactNode } from 'react';

type Props = {
  /** Caption of the table for screen readers. */
  readonly label: string;
  readonly headings: readonly string[];
  readonly children: ReactNode;
};

/** A table that scrolls in its own frame, and that the keyboard reaches: the page itself never scrolls sideways. */
export const Wide = ({ label, headings, children }: Props) => (
  <section className="wide" aria-label={label} tabIndex={0}>
    <Table striped highlightOnHover>
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
