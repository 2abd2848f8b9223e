import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { inParallel } from '#bundles/in-parallel';
import { refuseClashes } from './check-clashes.ts';
import { type Arrival, toDeploymentTargets } from './deployment-targets.ts';
import { type Bound, checkYaml } from './limits.ts';
import type { DeploymentTarget, HeldWorkload, SourceSnapshot } from './model.ts';
import type { ObjectOf } from './objects/platform-object.ts';
import { ofKind } from './objects/platform-object.ts';
import { readObjects } from './objects/read-objects.ts';
import { attempt, newProblems } from './problems.ts';
import { didYouMean } from '#bundles/nearest-name';
import type { Location } from './sources/location.ts';
import type { Source, Sources } from './sources/open-sources.ts';

/** A registration, and where its repository's folder is read from. */
export type RegisteredWorkload = {
  readonly registration: ObjectOf<'WorkloadRegistration'>;
  readonly folder: () => { readonly location: Location; readonly path: string };
  readonly arrival: Arrival;
  readonly bound: Bound;
};

export type LoadedWorkloads = {
  readonly targets: readonly DeploymentTarget[];
  readonly snapshots: readonly SourceSnapshot[];
  readonly held: readonly HeldWorkload[];
  /** Registrations whose Workloads have a deployment target, of whatever environment. */
  readonly filled: ReadonlySet<string>;
};

/** Repositories asked at the same time. */
const WIDTH = 8;

/** Reads the applications' repositories; a mistake in one of them holds that one and no other. */
export const loadWorkloads = async (
  sources: Sources,
  registered: readonly RegisteredWorkload[],
  environment: string,
  chain: readonly string[],
): Promise<LoadedWorkloads> => {
  const inOrder = registered.toSorted((a, b) => compareBytes(a.registration.name, b.registration.name));
  const loaded = await inParallel(inOrder, WIDTH, (one) => loadWorkload(sources, one, environment, chain));
  return {
    targets: loaded.flatMap((one) => one.targets),
    snapshots: loaded.flatMap((one) => one.snapshots),
    held: loaded.flatMap((one) => one.held),
    filled: new Set(loaded.flatMap((one) => [...one.filled])),
  };
};

const loadWorkload = async (
  sources: Sources,
  { registration, folder, arrival, bound }: RegisteredWorkload,
  environment: string,
  chain: readonly string[],
): Promise<LoadedWorkloads> => {
  const problems = newProblems();
  const source = await attempt(problems, async () => {
    const read = await sources.read({ role: `workload/${registration.name}`, ...folder(), bound });
    const texts = read.files.map(({ bytes }) => bytes);
    checkYaml(bound, texts, `the YAML in ${read.prefix}`);
    return read;
  });
  const workloads = source ? readWorkloads(source, problems.found) : [];
  const snapshots = source ? [source.snapshot] : [];
  if (problems.found.length === 0) {
    const targets = workloads.flatMap((workload) => toDeploymentTargets(workload, environment, arrival));
    const filled = new Set(workloads.some((one) => one.targets.length > 0) ? [registration.name] : []);
    const unknown = workloads.flatMap((one) => unknownEnvironments(one, chain));
    return { targets, snapshots, held: toHeld(registration, unknown), filled };
  }
  const errors = problems.found.map((error) => withRegistration(error, registration));
  return { targets: [], snapshots, held: toHeld(registration, errors), filled: new Set() };
};

const toHeld = (
  { name, workspace, at }: ObjectOf<'WorkloadRegistration'>,
  errors: readonly FleetError[],
): readonly HeldWorkload[] => (errors.length === 0 ? [] : [{ registration: name, workspace, at, errors }]);

/** A repository that cannot be read is a mistake of the line that names it. */
const withRegistration = (error: FleetError, registration: ObjectOf<'WorkloadRegistration'>): FleetError =>
  error.at
    ? error
    : new FleetError(error.code, error.message, {
        subject: `WorkloadRegistration ${registration.name}`,
        at: registration.repositoryAt ?? registration.at,
        ...(error.hint !== undefined && { hint: error.hint }),
        cause: error,
      });

/**
 * Targets of environments that the fleet does not have: they run nowhere. The Workload is held, so that sites keep the
 * packages of a target whose environment is misspelled; its other targets are built.
 */
const unknownEnvironments = (
  workload: ObjectOf<'Workload'>,
  chain: readonly string[],
): readonly FleetError[] =>
  workload.targets
    .filter((target) => chain.length > 0 && !chain.includes(target.environment))
    .map(
      (target) =>
        new FleetError(
          'REFERENCE_MISSING',
          `target ${target.name} is for the environment ${target.environment}, which the fleet does not have`,
          {
            subject: `Workload ${workload.name}`,
            at: target.environmentAt ?? target.at,
            hint: `${didYouMean(target.environment, chain) ?? ''}It has ${chain.join(', ')}`,
          },
        ),
    );

const readWorkloads = (source: Source, problems: FleetError[]): readonly ObjectOf<'Workload'>[] => {
  const objects = refuseClashes(readObjects(source, problems), problems);
  // An application says what it needs and nothing else: a policy or a configuration from here would rule over others.
  for (const object of objects) {
    if (object.kind === 'Workload') continue;
    problems.push(
      new FleetError('UNKNOWN_KIND', `a ${object.kind} cannot come from an application's repository`, {
        subject: `${object.kind} ${object.name}`,
        at: object.at,
        hint: 'Only a Workload can; move it to the platform repository',
      }),
    );
  }
  const workloads = ofKind(objects, 'Workload');
  if (workloads.length === 0 && problems.length === 0) problems.push(noWorkload(source));
  return workloads;
};

/** To take it for an application that wants nothing any more would remove it from every site. */
const noWorkload = ({ prefix }: Source): FleetError =>
  new FleetError('REFERENCE_MISSING', `there is no Workload in ${prefix}`, {
    hint: 'Look at kind and apiVersion of its YAML; an application that shall go has its registration removed',
  });
