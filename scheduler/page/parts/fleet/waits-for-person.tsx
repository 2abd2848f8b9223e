import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { Overview } from '#bundles/schemas/types/hub-decisions';
import { waitsOf } from './waits-of.ts';

export const WaitsForPerson = (answer: Pick<Overview, 'links' | 'waits'>) => {
  const all = waitsOf(answer);
  if (all.length === 0) return <Text>Nothing.</Text>;
  return (
    <ul className="plain">
      {all.map(({ what, to, details = [] }) => (
        <li key={what}>
          <Anchor component={Link} to={to}>
            {what}
          </Anchor>
          {details.map((one) => (
            <Text key={one} size="sm" c="dimmed">
              {one}
            </Text>
          ))}
        </li>
      ))}
    </ul>
  );
};
