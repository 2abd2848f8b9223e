import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { inParallel } from '#bundles/in-parallel';
import { refuseClashes } from './check-clashes.ts';
import { type Arrival, toDeploymentTargets } from './deployment-targets.ts';
import { type Bound, checkYaml } from '../../model/limits.ts';
import type { DeploymentTarget, HeldWorkload, SourceSnapshot } from '../../model/model.ts';
import { type ObjectOf, ofKind } from '../objects/platform-object.ts';
import { readObjects } from '../objects/read-objects.ts';
import { collectProblems, createProblems } from '../../model/problems.ts';
import { withPlace } from '../../model/with-place.ts';
import { didYouMean } from '#bundles/nearest-name';
import type { Location } from '../../model/location.ts';
import type { Source, Sources } from '../sources/open-sources.ts';

/** A registration, and the location of its folder. */
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
  /** Registrations whose Workloads have a deployment target in any environment. */
  readonly filled: ReadonlySet<string>;
};

/** Number of folders read at the same time. Those of one repository are checked out together. */
const WIDTH = 2048;

/** Reads the applications' repositories. A mistake in one holds only that application. */
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
  const problems = createProblems();
  const source = await collectProblems(problems, async () => {
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

/** An error without a place is reported at the registration that names the repository. */
const withRegistration = (error: FleetError, registration: ObjectOf<'WorkloadRegistration'>): FleetError =>
  withPlace(error, registration.repositoryAt ?? registration.at, `WorkloadRegistration ${registration.name}`);

/**
 * Reports targets of environments that the fleet does not have. The Workload is held, so that sites keep the package of a
 * target with a misspelled environment; its other targets are built.
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
  // An application may only deliver Workloads: a policy or configuration from it would apply to others.
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

/** An error, because an empty application would be removed from every site. */
const noWorkload = ({ prefix }: Source): FleetError =>
  new FleetError('REFERENCE_MISSING', `there is no Workload in ${prefix}`, {
    hint: 'Look at kind and apiVersion of its YAML; to remove an application, remove its registration',
  });
