import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import { Timed } from './age.tsx';

/** A line about what holds a gate or a rollout back. '<site>/<agent>: <why>' leads to the site. */
export const Holder = ({ line }: { readonly line: string }) => {
  const [, site, agent, why] = /^([a-z0-9-]+)\/([a-z0-9-]+): (.*)$/s.exec(line) ?? [];
  if (site === undefined || why === undefined)
    return (
      <Text size="sm">
        <Timed text={line} />
      </Text>
    );
  return (
    <Text size="sm">
      <Anchor component={Link} to={`/sites/${encodeURIComponent(site)}`} size="sm">
        {site}/{agent}
      </Anchor>
      : <Timed text={why} />
    </Text>
  );
};
