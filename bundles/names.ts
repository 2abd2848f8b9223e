import { FleetError, type Place } from './errors.ts';

/** DNS label of at most 63 characters (RFC 1123): fleets, environments, cluster types, workloads, sites, agents. */
export const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export const isName = (text: unknown): text is string => typeof text === 'string' && LABEL.test(text);

/** @throws FleetError NAME_INVALID */
export const parseName = (text: unknown, what: string, at?: Place): string => {
  if (isName(text)) return text;
  throw new FleetError('NAME_INVALID', `${what} ${JSON.stringify(text)?.slice(0, 80)} is not a DNS label`, {
    at,
    hint: 'Use at most 63 of a-z, 0-9 and -, beginning and ending with a letter or digit',
  });
};

/** The environment and cluster type that an agent follows. */
export type Channel = { readonly environment: string; readonly clusterType: string };

/** 'prod/kiosk' to a channel. @throws FleetError NAME_INVALID */
export const parseChannel = (text: string): Channel => {
  const [environment, clusterType, ...rest] = text.split('/');
  if (rest.length > 0 || clusterType === undefined) {
    throw new FleetError(
      'NAME_INVALID',
      `channel ${JSON.stringify(text).slice(0, 160)} is not <environment>/<cluster type>`,
      {
        hint: 'Write it like prod/factory-host',
      },
    );
  }
  return {
    environment: parseName(environment, 'environment'),
    clusterType: parseName(clusterType, 'cluster type'),
  };
};

export const formatChannel = (channel: Channel): string => `${channel.environment}/${channel.clusterType}`;

export const sameChannel = (a: Channel, b: Channel): boolean =>
  a.environment === b.environment && a.clusterType === b.clusterType;

/** Kind of target that a bundle is applied to. */
export type BundleKind = 'kubernetes' | 'host';
