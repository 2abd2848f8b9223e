import { Anchor, Table } from '@mantine/core';
import { Link } from 'react-router';
import type { ShownChange } from '#bundles/schemas/types/hub-decisions';
import { valuesAddress } from './address-of.ts';
import { JsonText } from './json-text.tsx';
import { LongTable } from './long-table.tsx';

type Props = {
  readonly label: string;
  readonly changes: readonly (ShownChange & { readonly site: string })[];
};

/** Old and new of each value. */
export const ChangedValues = ({ label, changes }: Props) => (
  <LongTable
    label={label}
    headings={['Where', 'Value', 'Old', 'New']}
    rows={changes}
    textOf={({ site, agent, name }) => `${site} ${agent ?? ''} ${name}`}
  >
    {({ site, agent, name, old, new: next }, row) => (
      <Table.Tr key={`${site} ${agent} ${name}`} {...row}>
        <Table.Th scope="row">
          <Anchor component={Link} to={valuesAddress(site, agent)}>
            {agent === null ? site : `${site}/${agent}`}
          </Anchor>
        </Table.Th>
        <Table.Td>{name}</Table.Td>
        <Table.Td>
          <JsonText value={old} />
        </Table.Td>
        <Table.Td>
          <JsonText value={next} />
        </Table.Td>
      </Table.Tr>
    )}
  </LongTable>
);
