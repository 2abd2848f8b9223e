import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import type { Place } from '#bundles/errors';
import { canonicalBytes, type Json } from '#bundles/json/canonical';
import { parseStrictJson } from '#bundles/json/strict-json';
import { parseDocument } from '#bundles/json/validate';
import type { SiteLayers } from '#bundles/schemas/types/site-layers';
import type {
  ClusterType,
  DeclaredSite,
  DeploymentTarget,
  Labels,
  Platform,
  SiteLayer,
} from '../../model/model.ts';
import type { StagePlan } from '../../model/promotion.ts';
import { plainValue } from '../../model/plain-value.ts';

/** Enough for thousands of sites and layers. */
const MAX_BYTES = 64 << 20;

/** The configuration of the sites of one environment, as it was released. */
export type ReleasedLayers = {
  readonly environment: string;
  /** In ascending precedence. */
  readonly layers: readonly SiteLayer[];
  /** By name. */
  readonly sites: ReadonlyMap<string, DeclaredSite>;
  /** Labels by name. */
  readonly clusterTypes: ReadonlyMap<string, Pick<ClusterType, 'name' | 'labels'>>;
  readonly targets: ReadonlyMap<string, Pick<DeploymentTarget, 'name' | 'workload' | 'labels'>>;
  readonly unread: readonly {
    readonly registration: string;
    readonly siteSelector: Labels;
    readonly why: string;
  }[];
  /** The stages in which changes of the values of sites reach their agents; undefined: the environment has no RolloutPolicy. */
  readonly rollout?: StagePlan | undefined;
};

/**
 * The document of the layers that select sites. Places are paths in the repositories, so that the bytes do not depend on the machine.
 * @param rollout the stages in which changes reach sites @returns undefined for a platform without any, and without declared sites
 */
export const encodeSiteLayers = (platform: Platform, rollout: StagePlan | undefined): Buffer | undefined => {
  const { siteLayers = [], declaredSites = [], unreadLayers = [] } = platform;
  if (siteLayers.length + declaredSites.length + unreadLayers.length === 0) return undefined;
  const keys = new Set(siteLayers.flatMap(({ selector }) => Object.keys(selector)));
  const document: SiteLayers = {
    fleet: platform.fleet,
    environment: platform.environment,
    layers: siteLayers.map(({ name, from, selector, siteSelector, fixed, values, places, path, at }) => ({
      name,
      from,
      selector,
      siteSelector,
      fixed,
      values: plainValue(values) as { readonly [key: string]: Json },
      places: Object.fromEntries(
        Object.entries(places).map(([key, { line = 1, column = 1 }]) => [key, [line, column]]),
      ),
      at: { ...at, file: path },
    })),
    sites: declaredSites.map(({ name, labels, agents, path, at }) => ({
      name,
      labels,
      agents: agents.map((agent) =>
        defined({
          name: agent.name,
          channel: agent.channel,
          labels: agent.labels,
          at: { ...agent.at, file: path },
        }),
      ),
      at: { ...at, file: path },
    })),
    clusterTypes: platform.clusterTypes.map(({ name, labels }) => ({ name, labels: only(labels, keys) })),
    targets:
      keys.size === 0
        ? []
        : platform.targets
            .map(({ name, workload, labels }) => ({ name, workload, labels: only(labels, keys) }))
            .toSorted((a, b) => compareBytes(a.name, b.name)),
    unread: unreadLayers.map(({ registration, siteSelector, errors }) => ({
      registration,
      siteSelector,
      why: errors
        .map(({ code, message }) => `${code}: ${message}`)
        .join('; ')
        .slice(0, 2000),
    })),
    ...defined({ rollout }),
  };
  return canonicalBytes(document, 'doubles');
};

/** Other labels select no layer, and a change of them is no change of the document. */
const only = (labels: Labels, keys: ReadonlySet<string>): Labels =>
  Object.fromEntries(Object.entries(labels).filter(([key]) => keys.has(key)));

/** @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, SCHEMA */
export const decodeSiteLayers = (bytes: Uint8Array, what: string): ReleasedLayers => {
  const read = parseDocument('site-layers', parseStrictJson(bytes, { maxBytes: MAX_BYTES }, what), what);
  const byName = <T extends { readonly name: string }>(all: readonly T[]): ReadonlyMap<string, T> =>
    new Map(all.map((one) => [one.name, one]));
  return {
    environment: read.environment,
    layers: read.layers.map(({ places, at, values, ...layer }) => ({
      ...layer,
      values: values as SiteLayer['values'],
      places: Object.fromEntries(
        Object.entries(places).map(([key, [line, column]]): [string, Place] => [
          key,
          { file: at.file, line, column },
        ]),
      ),
      path: at.file,
      at,
    })),
    sites: byName(
      read.sites.map((site) => ({
        ...site,
        path: site.at.file,
        agents: site.agents.map((agent) => ({ ...agent, channel: agent.channel })),
      })),
    ),
    clusterTypes: byName(read.clusterTypes),
    targets: byName(read.targets),
    unread: read.unread,
    rollout: read.rollout as StagePlan | undefined,
  };
};
