import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { Overview } from '#bundles/schemas/types/hub-decisions';
import { Age } from '../age.tsx';
import { GateState } from '../state.tsx';

type Props = Pick<Overview, 'environments' | 'links' | 'at'>;

/** The environments of the chain, and the gate before each. */
export const ChainGraph = ({ environments, links, at }: Props) => {
  const known = [...new Set([...environments, ...links.flatMap(({ from, to }) => [from, to])])];
  return (
    <ol className="chain">
      {known.map((name) => {
        const link = links.find(({ to }) => to === name);
        return (
          <li key={name}>
            {link !== undefined && (
              <div className="gate">
                <GateState state={link.state} />
                <Text size="sm" component="div">
                  <Anchor component={Link} to="/pipeline" size="sm">
                    {link.from} to {link.to}
                  </Anchor>{' '}
                  since <Age at={link.since} now={at} />
                </Text>
                {link.why !== null && (
                  <Text size="sm" c="dimmed">
                    {link.why}
                  </Text>
                )}
              </div>
            )}
            <Anchor component={Link} to={`/?environment=${encodeURIComponent(name)}`} className="environment">
              {name}
            </Anchor>
          </li>
        );
      })}
    </ol>
  );
};
