import { Anchor, Table } from '@mantine/core';
import { Link } from 'react-router';
import type { Where } from '#bundles/transport/hub/client';
import { Age } from './age.tsx';
import { Pages } from './pages.tsx';
import { State } from './state.tsx';
import { Wide } from './wide.tsx';

type Props = {
  readonly where: Where;
  /** Whether the table names the assignment of each row. */
  readonly assignments: boolean;
};

/** The agents of an answer about what runs where, a row for each assignment, with the links to its other pages. */
export const RunningAgents = ({ where: { at, agents, next }, assignments }: Props) => (
  <>
    <Wide
      label="Agents"
      headings={[
        'Agent',
        'Channel',
        ...(assignments ? ['Assignment'] : []),
        'Version',
        'Since',
        'Health',
        'Last word',
      ]}
    >
      {agents.flatMap(({ agent, site, channel, saidAt, running }) =>
        running.map(({ assignment, name, since, health, drift }) => (
          <Table.Tr key={`${agent} ${assignment}`}>
            <Table.Th scope="row">
              <Anchor component={Link} to={`/sites/${site}`}>
                {agent}
              </Anchor>
            </Table.Th>
            <Table.Td>
              {channel.environment}/{channel.clusterType}
            </Table.Td>
            {assignments && <Table.Td>{assignment}</Table.Td>}
            <Table.Td>
              <Anchor component={Link} to={`/sites/${agent}/${assignment}`}>
                {name}
              </Anchor>
            </Table.Td>
            <Table.Td>
              <Age at={since} now={at} />
            </Table.Td>
            <Table.Td>
              {health?.split(' sha256:')[0] ?? 'never reported'}{' '}
              {drift === 'drifted' && <State mood="bad">drifted</State>}
            </Table.Td>
            <Table.Td>
              <Age at={saidAt} now={at} />
            </Table.Td>
          </Table.Tr>
        )),
      )}
    </Wide>
    <Pages next={next} />
  </>
);
