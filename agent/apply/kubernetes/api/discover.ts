import type { ResourceType, TypeRef } from './kubernetes-api.ts';
import type { Sender } from './send.ts';

/** The kinds of the server, by 'group/version' and kind. */
export type Types = {
  readonly all: readonly ResourceType[];
  readonly find: (type: TypeRef) => ResourceType | undefined;
};

type Resource = {
  readonly resource: string;
  readonly responseKind?: { readonly group?: string; readonly version?: string; readonly kind?: string };
  readonly scope?: 'Cluster' | 'Namespaced';
  readonly verbs?: readonly string[];
};

type GroupList = {
  readonly kind?: string;
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions?: readonly { readonly version: string; readonly resources?: readonly Resource[] }[];
  }[];
};

/** Aggregated discovery returns all kinds in two responses: v2 since Kubernetes 1.30, v2beta1 since 1.27. */
const ACCEPT = ['v2', 'v2beta1']
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .join(',');

/** @throws FleetError API_* */
export const discover = async (sender: Sender, signal: AbortSignal): Promise<Types> => {
  const all: ResourceType[] = [];
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
    all.push(...readGroups(JSON.parse(body) as GroupList));
  }
  const byType = new Map(all.map((type) => [keyOf(apiVersionOf(type), type.kind), type]));
  return { all, find: ({ apiVersion, kind }) => byType.get(keyOf(apiVersion, kind)) };
};

const keyOf = (apiVersion: string, kind: string): string => `${apiVersion} ${kind}`;

export const apiVersionOf = ({ group, version }: Pick<ResourceType, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`;

const readGroups = ({ items = [] }: GroupList): readonly ResourceType[] =>
  items.flatMap(({ metadata, versions = [] }) =>
    versions.flatMap(({ version, resources = [] }) =>
      resources.flatMap(({ resource, responseKind, scope, verbs = [] }) =>
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
              },
            ]
          : [],
      ),
    ),
  );
