import { defined } from '#bundles/defined';
import { FleetError, isFleetError } from '#bundles/errors';
import { OBJECT_VERBS } from '#bundles/formats/bounds/object-verbs';
import { inParallel } from '../api/in-parallel.ts';
import type { KubernetesApi } from '../api/kubernetes-api.ts';
import { typeKey, type Wanted } from '../desired/resolve-wanted.ts';
import type { WantedObject } from '../desired/wanted-object.ts';
import { ALL_RIGHTS, formatRights, lackingRights, type Right } from '../examine/account-rights.ts';

/** How long a confirmed right is not asked for again: packages of one release need mostly the same rights. */
const KNOWN_MS = 60_000;

/** Verbs that a role can limit to names of objects. */
const NAMED: ReadonlySet<string> = new Set(['get', 'patch', 'delete']);

/** `user` undefined: the agent's own account. */
type AccountRights = { readonly user: string | undefined; readonly rights: readonly NeededRight[] };

/** A right with the names of the objects that need it: a role may be limited to names. */
type NeededRight = Right & { readonly names: readonly string[] };

/** Creates the check of the rights that a package needs. It remembers confirmed rights for a minute. */
export const createRightsCheck = (now: () => number = () => performance.now()) => {
  const confirmed = new Map<string, number>();
  const lackingOf = async (
    api: KubernetesApi,
    { user, rights }: AccountRights,
    signal: AbortSignal,
  ): Promise<readonly Right[]> => {
    const as = user === undefined ? api : api.as(user);
    const keyOf = (right: Right): string => JSON.stringify([user, right]);
    const lacks = async (right: NeededRight): Promise<boolean> => {
      const { names, ...plain } = right;
      if ((await lackingRights(as, [plain], signal)).length === 0) return false;
      if (!NAMED.has(plain.verb)) return true;
      const lacksOf = async (some: readonly string[]): Promise<boolean> => {
        const named = some.map((name) => ({ ...plain, name }));
        return (await lackingRights(as, named, signal)).length > 0;
      };
      // The first name alone shows that an account has no right at all: one question instead of one for each object.
      return (await lacksOf(names.slice(0, 1))) || (await lacksOf(names.slice(1)));
    };
    for (const [key, at] of confirmed) if (now() - at >= KNOWN_MS) confirmed.delete(key);
    if (confirmed.has(keyOf(ALL_RIGHTS))) return [];
    const asked = rights.filter((right) => !confirmed.has(keyOf(right)));
    if (asked.length === 0) return [];
    if ((await lackingRights(as, [ALL_RIGHTS], signal)).length === 0) {
      confirmed.set(keyOf(ALL_RIGHTS), now());
      return [];
    }
    const answers = await inParallel(asked, lacks);
    for (const [index, right] of asked.entries()) if (!answers[index]) confirmed.set(keyOf(right), now());
    return asked.filter((_, index) => answers[index]);
  };
  return {
    /**
     * Refuses a package whose objects need more than the accounts may, before anything of it is written or tried: with all verbs and
     * resources, so that one change of the roles is enough. A missing `delete` alone stops nothing until something has to go.
     * @param api of the agent's own account @param accountOf the account for an object; undefined: the agent's own
     * @throws FleetError API_DENIED, API_*, ABORTED
     */
    check: async (
      api: KubernetesApi,
      wanted: Wanted,
      accountOf: (key: string) => string | undefined,
      signal: AbortSignal,
    ): Promise<void> => {
      const accounts = Map.groupBy(wanted.objects, ({ key }) => accountOf(key));
      const sentences: string[] = [];
      for (const [user, objects] of accounts) {
        const rights = await rightsFor(api, wanted, objects, signal);
        const lacking = await lackingOf(api, { user, rights }, signal).catch(unanswered);
        if (lacking.some(({ verb }) => verb !== 'delete'))
          sentences.push(`${user ?? (await ownName(api, signal))} lacks: ${formatRights(lacking)}`);
      }
      if (sentences.length > 0) throw denied(sentences.join('. '));
    },
  };
};

/** A cluster may deny access reviews: then the dry runs find what is missing, one right at a time. @throws other errors */
const unanswered = (error: unknown): readonly Right[] => {
  if (!isFleetError(error, 'API_DENIED')) throw error;
  return [];
};

/** The agent's own account as the server knows it (SelfSubjectReview, Kubernetes 1.28 and later). */
const ownName = async (api: KubernetesApi, signal: AbortSignal): Promise<string> => {
  const review = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'SelfSubjectReview',
    metadata: { name: '' },
  };
  try {
    const { status } = await api.create(review, signal);
    const { userInfo } = status as { readonly userInfo: { readonly username: string } };
    return `the agent's account ${userInfo.username}`;
  } catch {
    return "the agent's account";
  }
};

const denied = (message: string): FleetError =>
  new FleetError('API_DENIED', message, {
    hint: 'A cluster administrator gives its account a role that allows all of it, as "fleet-scheduler rights" writes for the release; nothing was written, and other packages are applied',
  });

const rightsFor = async (
  api: KubernetesApi,
  { later }: Wanted,
  objects: readonly WantedObject[],
  signal: AbortSignal,
): Promise<readonly NeededRight[]> => {
  const rights = new Map<string, Right & { readonly names: string[] }>();
  for (const { apiVersion, kind, group, namespace, name, policy } of objects) {
    if (policy.apply === 'ignore' || later.has(typeKey({ apiVersion, kind }))) continue;
    const type = await api.typeOf({ apiVersion, kind }, signal);
    // The package's own CRD defines the kind, so the server does not know it yet.
    if (!type) continue;
    for (const verb of OBJECT_VERBS) {
      if (!type.verbs.includes(verb)) continue;
      const right = defined({ verb, group, resource: type.plural, namespace });
      const key = JSON.stringify(right);
      const needed = rights.get(key) ?? { ...right, names: [] };
      needed.names.push(name);
      rights.set(key, needed);
    }
  }
  return [...rights.values()];
};
