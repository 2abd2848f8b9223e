import { Anchor, Table, Text, VisuallyHidden } from '@mantine/core';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { Link } from 'react-router';
import { Wide } from '../wide.tsx';
import type { ChartData } from './chart-data.ts';

/** The library is loaded with the first chart. After an upgrade of the hub it is gone, and the view is shown without charts. */
const Drawing = lazy(() =>
  import('./drawing.tsx').catch(() => ({ default: () => <Text>The chart is not loaded.</Text> })),
);

type Props = {
  readonly title: string;
  /** Each row of the table links to what ran in this environment at that time. */
  readonly environment: string;
  readonly data: ChartData;
  readonly children?: ReactNode;
};

/** Curves over time, and the same numbers as a table. @param children the heading */
export const Chart = ({ title, environment, data, children }: Props) => (
  <figure className="chart" aria-label={title}>
    {children}
    {/* The table has all that is drawn. */}
    <div className="drawing" aria-hidden="true">
      <Suspense>
        <Drawing {...data} />
      </Suspense>
    </div>
    <Numbers title={title} environment={environment} data={data} />
  </figure>
);

const Numbers = ({ title, environment, data: { times, curves } }: Props) => {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        As a table
        <VisuallyHidden>
          {`. Now ${curves.map(({ name, values }) => `${name}: ${values.at(-1) ?? 0}`).join(', ')}`}
        </VisuallyHidden>
      </summary>
      {isOpen && (
        <Wide label={`${title}, as a table`} headings={['Time', ...curves.map(({ name }) => name)]}>
          {times
            .map((at, index) => (
              <Table.Tr key={at}>
                <Table.Th scope="row">
                  <Anchor component={Link} to={`/where?${new URLSearchParams({ name: environment, at })}`}>
                    <time dateTime={at}>{at.slice(0, 16).replace('T', ' ')}</time>
                  </Anchor>
                </Table.Th>
                {curves.map(({ name, values }) => (
                  <Table.Td key={name}>{values[index]}</Table.Td>
                ))}
              </Table.Tr>
            ))
            .toReversed()}
        </Wide>
      )}
    </details>
  );
};
