import { FleetError } from '#bundles/errors';
import type { ResourceType, TypeRef } from './kubernetes-api.ts';
import type { Sender } from './send.ts';

/** The kinds of the server, by 'group/version' and kind. */
export type Types = {
  readonly all: readonly ResourceType[];
  readonly find: (type: TypeRef) => ResourceType | undefined;
  /**
   * True if the kind may exist although `find` does not know it: the API service behind its group does not answer, and the server has
   * not seen its kinds since it started.
   */
  readonly isHidden: (type: TypeRef) => boolean;
};

type Resource = {
  readonly resource: string;
  readonly responseKind?: { readonly group?: string; readonly version?: string; readonly kind?: string };
  readonly scope?: 'Cluster' | 'Namespaced';
  readonly verbs?: readonly string[];
  readonly subresources?: readonly { readonly subresource?: string }[];
};

type GroupList = {
  readonly kind?: string;
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions?: readonly {
      readonly version: string;
      readonly resources?: readonly Resource[];
      readonly freshness?: 'Current' | 'Stale';
    }[];
  }[];
};

/** Aggregated discovery returns all kinds in two responses: v2 since Kubernetes 1.30, v2beta1 since 1.27. */
const ACCEPT = ['v2', 'v2beta1']
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .join(',');

/** @throws FleetError API_* */
export const discover = async (sender: Sender, signal: AbortSignal): Promise<Types> => {
  const all: ResourceType[] = [];
  const stale = new Set<string>();
  for (const path of ['/api', '/apis']) {
    const request = {
      method: 'GET',
      path,
      accept: ACCEPT,
      verb: 'discover',
      what: path,
      secret: false,
    } as const;
    const { body } = await sender.send(request, signal);
    const list = JSON.parse(body) as GroupList;
    // Another answer, of a proxy for example, must not look like a cluster without kinds.
    if (list.kind !== 'APIGroupDiscoveryList') throw noDiscovery(path);
    all.push(...readGroups(list));
    for (const version of staleVersions(list)) stale.add(version);
  }
  const byType = new Map(all.map((type) => [keyOf(apiVersionOf(type), type.kind), type]));
  return {
    all,
    find: ({ apiVersion, kind }) => byType.get(keyOf(apiVersion, kind)),
    isHidden: ({ apiVersion }) => stale.has(apiVersion),
  };
};

const noDiscovery = (path: string): FleetError =>
  new FleetError(
    'API_FAILED',
    `the API server does not list its kinds at ${path} as Kubernetes 1.27 and later do`,
    {
      hint: 'See whether a proxy answers in its place',
    },
  );

const staleVersions = ({ items = [] }: GroupList): readonly string[] =>
  items.flatMap(({ metadata, versions = [] }) =>
    versions
      .filter(({ freshness, resources = [] }) => freshness === 'Stale' && resources.length === 0)
      .map(({ version }) => apiVersionOf({ group: metadata?.name ?? '', version })),
  );

const keyOf = (apiVersion: string, kind: string): string => `${apiVersion} ${kind}`;

export const apiVersionOf = ({ group, version }: Pick<ResourceType, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`;

const readGroups = ({ items = [] }: GroupList): readonly ResourceType[] =>
  items.flatMap(({ metadata, versions = [] }) =>
    versions.flatMap(({ version, resources = [] }) =>
      resources.flatMap(({ resource, responseKind, scope, verbs = [], subresources = [] }) =>
        // Some subresources have kinds of another group (Scale); for built-in kinds group and version are absent.
        responseKind?.kind
          ? [
              {
                group: metadata?.name ?? '',
                version,
                kind: responseKind.kind,
                plural: resource,
                namespaced: scope === 'Namespaced',
                verbs,
                hasStatusSubresource: subresources.some(({ subresource }) => subresource === 'status'),
              },
            ]
          : [],
      ),
    ),
  );
