import { NativeSelect } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useLocation, useNavigate, useSearchParams } from 'react-router';
import { workloads } from '#bundles/transport/hub/client';
import { send } from '../../api/ask.ts';
import { placeOf } from './places.ts';

/** The environments of the hub, in the order of the chain; none until the hub answers. */
export const useEnvironments = (): readonly string[] => {
  const [names, setNames] = useState<readonly string[]>([]);
  useEffect(() => {
    const stop = new AbortController();
    send((options) => workloads({ limit: 1 }, options), { signal: stop.signal }).then(
      ({ environments }) => setNames(environments),
      // Views report what the hub refuses.
      () => {},
    );
    return () => stop.abort();
  }, []);
  return names;
};

/** The query that links of the side bar have, so that the chosen environment stays. */
export const useScope = (): string => {
  const [query] = useSearchParams();
  const environment = query.get('environment');
  return environment === null || environment === '' ? '' : `?${new URLSearchParams({ environment })}`;
};

/** Chooses the environment that the view and those that the side bar leads to show. */
export const Scope = () => {
  const [query] = useSearchParams();
  const { pathname } = useLocation();
  const navigate = useNavigate();
  const environments = useEnvironments();
  const chosen = query.get('environment') ?? '';
  const isScoped = placeOf(pathname)?.isScoped === true;
  if (!isScoped || (environments.length === 0 && chosen === '')) return null;
  const choose = async (environment: string): Promise<void> => {
    const next = new URLSearchParams(query);
    next.delete('cursor');
    if (environment === '') next.delete('environment');
    else next.set('environment', environment);
    await navigate(`${pathname}?${next}`);
  };
  return (
    <NativeSelect
      aria-label="Scope"
      className="scope"
      value={chosen}
      onChange={({ currentTarget }) => void choose(currentTarget.value)}
      data={[
        { value: '', label: 'All environments' },
        ...new Set([...environments, ...(chosen === '' ? [] : [chosen])]),
      ]}
    />
  );
};
