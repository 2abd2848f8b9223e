import { Anchor, Loader, Table, Text } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'react-router';
import type { ValuesOfSite } from '#bundles/schemas/types/hub-decisions';
import { valuesOfSite } from '#bundles/transport/hub/client';
import { Refusal, send } from '../api/ask.ts';
import { useAnswer } from '../api/use-answer.ts';
import { valuesAddress } from './address-of.ts';
import { By, Placed } from './placed-value.tsx';
import { State } from './state.tsx';
import { Wide } from './wide.tsx';

/** The values that a site and its agents have, each with its origin. They are read when the section is opened. */
export const SiteValues = ({ site }: { readonly site: string }) => {
  const [isOpen, setOpen] = useState(false);
  const answer = useAnswer({
    id: isOpen ? site : null,
    read: (signal) => send((options) => valuesOfSite({ site }, options), { signal }),
  });
  return (
    <details className="packages" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Values of this site, with their origin</summary>
      {isOpen && answer === undefined && <Loader size="sm" aria-label="Reading the values" />}
      {answer instanceof Refusal && <Text size="sm">{answer.message}</Text>}
      {answer !== undefined && !(answer instanceof Refusal) && <Values of={answer} />}
    </details>
  );
};

type Value = ValuesOfSite['places'][number]['values'][number];

/** The value that the place has in the end, by the order of the layers. */
const inForce = ({ fixed, local, given, inherited }: Value) => fixed ?? local ?? given ?? inherited;

const Values = ({ of: { site, places } }: { readonly of: ValuesOfSite }) => {
  const rows = places.flatMap(({ agent, values }) =>
    values
      // What an agent has from its site is in the row of the site.
      .filter((value) => agent === null || value.given !== null || value.fault !== null || value.local)
      .map((value) => ({ agent, value })),
  );
  if (rows.length === 0) return <Text size="sm">No application here takes values of the site.</Text>;
  return (
    <Wide label={`Values of ${site}`} headings={['Value', 'Of', 'In force', 'Packages', 'Fault']}>
      {rows.map(({ agent, value }) => {
        const placed = inForce(value);
        return (
          <Table.Tr key={`${agent ?? ''} ${value.name}`}>
            <Table.Th scope="row">
              <Anchor component={Link} to={valuesAddress(site, agent)}>
                {value.name}
              </Anchor>
            </Table.Th>
            <Table.Td>{agent ?? 'the site'}</Table.Td>
            <Table.Td>
              {value.differs && placed === value.inherited ? (
                'different values at its agents'
              ) : (
                <>
                  {value.hidden && placed !== null ? 'withheld' : <Placed of={placed} />}
                  {placed !== null && <By of={placed} />}
                </>
              )}
            </Table.Td>
            <Table.Td>
              {value.assignments.map((assignment) => (
                <div key={assignment}>{assignment}</div>
              ))}
            </Table.Td>
            <Table.Td>{value.fault !== null && <State mood="late">{value.fault}</State>}</Table.Td>
          </Table.Tr>
        );
      })}
    </Wide>
  );
};
