import { Anchor, Loader, Table, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import type { Package } from '#bundles/schemas/types/hub-decisions';
import { getV1Package } from '#bundles/transport/hub/client';
import { Refusal, send } from '../api/ask.ts';
import { useAnswer } from '../api/use-answer.ts';
import { Change } from './change.tsx';
import { LongTable } from './long-table.tsx';
import { State } from './state.tsx';

type Objects = NonNullable<Package['objects']>;
type Props = {
  readonly objects: Objects;
  readonly drift: Package['drift'];
  /** Address of the package, in a view that is not its own. */
  readonly to?: string;
};

/** Groups of more objects are closed at first, unless something in them drifted. */
const OPEN_OBJECTS = 20;
/** Objects of a kind that are a list; more are a table. */
const LIST_OBJECTS = 100;

/** The parts of a package by kind, each with its live state as of the last comparison and the lines that differ. */
export const PackageTree = ({ objects, drift, to }: Props) => {
  const drifted = Map.groupBy(drift?.objects ?? [], ({ key }) => key);
  const known = new Set(objects.map(({ key }) => key));
  const others = (drift?.objects ?? []).filter(({ key }) => !known.has(key));
  return (
    <div className="tree">
      {[...Map.groupBy(objects, ({ group }) => group)].map(([group, of]) => {
        const count = of.filter(({ key }) => drifted.has(key)).length;
        return (
          <details key={group} open={count > 0 || of.length <= OPEN_OBJECTS}>
            <summary>
              {group} <span className="count">{of.length}</span>{' '}
              {count > 0 && <State mood="bad">{`${count} drifted`}</State>}
            </summary>
            <Parts group={group} of={of} drifted={drifted} drift={drift} areAllKnown={others.length === 0} />
          </details>
        );
      })}
      {others.length > 0 && (
        <details open>
          <summary>
            Beside the package <span className="count">{others.length}</span>
          </summary>
          <ul>
            {others.map((item) => (
              <li key={`${item.key} ${item.what}`}>
                <strong>{item.key}</strong> <State mood="bad">{item.what}</State>
                <Drifted of={item} />
              </li>
            ))}
          </ul>
        </details>
      )}
      {(drift?.more ?? 0) > 0 && <Text size="sm">The agent counted {drift?.more} more.</Text>}
      {to !== undefined && (
        <Anchor component={Link} to={to} size="sm">
          Health, update and roll-back
        </Anchor>
      )}
    </div>
  );
};

type PartsProps = {
  readonly group: string;
  readonly of: Objects;
  readonly drifted: ReadonlyMap<string, readonly DriftedObject[]>;
  readonly drift: Package['drift'];
  readonly areAllKnown: boolean;
};

/** The parts of one kind; of many, those that drifted, and a table that draws the rows in the window. */
const Parts = ({ group, of, drifted, drift, areAllKnown }: PartsProps) => {
  const isLong = of.length > LIST_OBJECTS;
  const listed = isLong ? of.filter(({ key }) => drifted.has(key)) : of;
  const live = (key: string): ReactNode => (
    <LiveState own={drifted.get(key)} drift={drift} areAllKnown={areAllKnown} />
  );
  return (
    <>
      <ul>
        {listed.map(({ key, object, wanted }) => (
          <li key={key}>
            <strong>{object}</strong> {live(key)}
            {wanted !== null && (
              <Text span size="sm" c="dimmed">
                {' '}
                {wanted}
              </Text>
            )}
            {drifted.get(key)?.map((item) => (
              <Drifted key={item.what} of={item} />
            ))}
          </li>
        ))}
      </ul>
      {isLong && (
        <LongTable
          label={group}
          headings={['Object', 'Live', 'Wanted', 'File']}
          rows={of}
          textOf={({ object, file }) => `${object} ${file}`}
        >
          {({ key, object, wanted, file }, props) => (
            <Table.Tr key={key} {...props}>
              <Table.Th scope="row">{object}</Table.Th>
              <Table.Td>{live(key)}</Table.Td>
              <Table.Td>{wanted}</Table.Td>
              <Table.Td>{file}</Table.Td>
            </Table.Tr>
          )}
        </LongTable>
      )}
    </>
  );
};

type DriftedObject = NonNullable<Package['drift']>['objects'][number];

/** What the agent said, and below it the lines, as far as they are known. */
const Drifted = ({ of: { key, message, diff } }: { readonly of: DriftedObject }) => (
  <>
    <Text size="sm">{message}</Text>
    {diff !== null && <Change object={{ object: key, file: '', outcome: 'configured', diff }} isOpen />}
  </>
);

type LiveProps = {
  readonly own: readonly DriftedObject[] | undefined;
  readonly drift: Package['drift'];
  /** Whether everything that drifted is an object that the package has. */
  readonly areAllKnown: boolean;
};

/** The live state of one object, as of the last comparison. */
const LiveState = ({ own, drift, areAllKnown }: LiveProps) => {
  if (drift === null) return <State mood="quiet">not compared</State>;
  if (own !== undefined) return <State mood="bad">{own.map(({ what }) => what).join(', ')}</State>;
  return drift.drifted && (drift.more > 0 || !areAllKnown) ? (
    <State mood="quiet">not known</State>
  ) : (
    <State mood="good">as applied</State>
  );
};

type NodeProps = {
  /** '<site>/<agent>' */
  readonly agent: string;
  readonly assignment: string;
  /** Time of the view's answer: with a newer one, an open package is read again. */
  readonly now: string;
  /** Beside its name: its state. */
  readonly children: ReactNode;
};

/** A package of an agent that opens to its objects. They are read when the package is opened, and again with the view. */
export const PackageNode = ({ agent, assignment, now, children }: NodeProps) => {
  const [isOpen, setOpen] = useState(false);
  const answer = useAnswer({
    id: isOpen ? `${agent} ${assignment}` : null,
    as: now,
    read: (signal) => send((options) => getV1Package({ agent, assignment }, options), { signal }),
  });
  return (
    <details
      className="package"
      onToggle={({ currentTarget, target }) => {
        // Groups inside it toggle, too.
        if (target === currentTarget) setOpen(currentTarget.open);
      }}
    >
      <summary>
        {assignment} {children}
      </summary>
      {isOpen && answer === undefined && <Loader size="sm" aria-label={`Reading ${assignment}`} />}
      {answer instanceof Refusal && <Text size="sm">{answer.message}</Text>}
      {answer !== undefined && !(answer instanceof Refusal) && (
        <>
          {answer.objects === null && (
            <Text size="sm">No release in the layout has this package any more.</Text>
          )}
          <PackageTree
            objects={answer.objects ?? []}
            drift={answer.drift}
            to={`/sites/${agent}/${assignment}`}
          />
        </>
      )}
    </details>
  );
};
