import { UnstyledButton } from '@mantine/core';
import { toCsv } from './csv.ts';

type Props = {
  /** Of the table, and name of the file. */
  readonly label: string;
  /** Headings and rows, read when the button is pressed. */
  readonly rows: () => readonly (readonly string[])[];
};

/** A button that saves a table as a file. */
export const SaveCsv = ({ label, rows }: Props) => {
  const save = (): void => {
    const address = URL.createObjectURL(new Blob(['\ufeff', toCsv(rows())], { type: 'text/csv' }));
    const link = document.createElement('a');
    link.href = address;
    link.download = `${label.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.csv`;
    link.click();
    URL.revokeObjectURL(address);
  };
  return (
    <UnstyledButton className="csv" onClick={save} aria-label={`Save ${label} as CSV`}>
      CSV
    </UnstyledButton>
  );
};

/** The cells of a table in the document, with exact times and whole digests. */
export const rowsIn = (table: HTMLTableElement): readonly (readonly string[])[] =>
  [...table.rows]
    .filter((row) => row.getAttribute('aria-hidden') !== 'true')
    .map((row) => [...row.cells].map(textOf));

const textOf = (cell: HTMLTableCellElement): string => {
  const copy = cell.cloneNode(true) as HTMLElement;
  for (const time of copy.querySelectorAll('time')) time.textContent = time.dateTime;
  for (const digest of copy.querySelectorAll<HTMLElement>('code[title]')) digest.textContent = digest.title;
  // Words of neighbouring elements do not run together.
  for (const element of copy.querySelectorAll('*')) element.append(' ');
  return (copy.textContent ?? '').replaceAll(/\s+/g, ' ').trim();
};
