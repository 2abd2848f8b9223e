import { FleetError } from '#bundles/errors';
import { stableText } from '#bundles/json/stable-hash';
import { checkRepository } from '../load/applications/check-repository.ts';
import { bundlesApplication } from '../load/applications/read-application.ts';
import type { Assignment, DeploymentTarget } from '../model/model.ts';
import type { RenderingPlatform } from './type-digests.ts';

/** Platform configuration of an assignment: values with power over a cluster or host are in it, not in `manifests`. */
type Settings = { readonly reconciler?: unknown };

/**
 * Checks what another reconciler would fetch for a registered application: it uses the platform's credentials, and may run what it
 * fetched with the platform's rights. The scheduler never sees that content, so the addresses and the user are bounded instead, by
 * the same lists as for content that it reads itself. Workloads of the platform are trusted.
 * `manifests.repo` and an address in `manifests.chart` are checked; a template of the platform that reads other keys has to bound
 * them itself.
 * @returns a check that throws FleetError FIELD_INVALID, REPOSITORY_FOREIGN, OUT_OF_BOUNDS
 */
export const createFetchCheck = (
  platform: RenderingPlatform,
): ((assignment: Assignment, config: Settings) => void) => {
  // The same for all cluster types, which may be hundreds.
  const known = new Map<DeploymentTarget, FleetError | undefined>();
  return ({ clusterType, target }, { reconciler }) => {
    if (target.registration === undefined) return;
    if (!bundlesApplication(clusterType)) {
      if (!known.has(target))
        known.set(
          target,
          faultOf(() => checkAddresses(platform, target)),
        );
      const fault = known.get(target);
      if (fault) throw fault;
    }
    if (runsAnsiblePull(platform, clusterType.reconciler))
      checkUser(platform, target, settingsOf(reconciler));
  };
};

const faultOf = (check: () => void): FleetError | undefined => {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof FleetError) return error;
    throw error;
  }
};

const checkAddresses = (platform: RenderingPlatform, target: DeploymentTarget): void => {
  const { repo, chart } = target.manifests;
  const listed = platform.workspaces?.find(({ name }) => name === target.workspace)?.repositories;
  // Kalypso bounds nothing here, and its control planes render as they did; the list of a Workspace holds in both forms.
  if (platform.form === 'kalypso' && listed === undefined) return;
  if (repo !== undefined && repo !== null && repo !== '')
    checkRepository(platform, target, textOf(repo), false);
  // A chart by name alone is one of `repo`.
  if (typeof chart === 'string' && chart.includes('://')) checkRepository(platform, target, chart, false);
};

/** The template of this name that comes with the program; one of the platform's own decides itself who runs what. */
const runsAnsiblePull = ({ templates }: RenderingPlatform, reconciler: string): boolean =>
  reconciler === 'ansible-pull' && templates.get(reconciler)?.at.file.startsWith('built-in ') === true;

type UserSettings = { readonly user?: unknown; readonly ownUser?: unknown };

const settingsOf = (value: unknown): UserSettings =>
  typeof value === 'object' && value !== null ? value : {};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : stableText(value));

/** @throws FleetError OUT_OF_BOUNDS unless the Workspace grants the user, or it is the one of `ansible-user` */
const checkUser = (
  { environment }: RenderingPlatform,
  { name, workspace, grants, at }: DeploymentTarget,
  { user, ownUser }: UserSettings,
): void => {
  // Only what Go's templates take for true; anything else counts as the user that is configured.
  if (ownUser === true || (typeof ownUser === 'string' && ownUser !== '')) return;
  const runsAs = user === undefined || user === null || user === '' || user === 0 ? 'root' : textOf(user);
  if (grants?.users.includes(runsAs)) return;
  throw new FleetError(
    'OUT_OF_BOUNDS',
    `ansible-pull would run the playbook of ${name} as ${runsAs} on the host, and the Workspace ${workspace} does not grant that`,
    {
      subject: name,
      at,
      hint: `Let the platform set reconciler: {ownUser: true}, so that it runs as ${environment}-${name}, or grant it in the Workspace ${workspace}: host: {users: [${runsAs}]}`,
    },
  );
};
