import type { HostPlaybook } from '#bundles/formats/bundle/host-package';
import type { DesiredPackage, OwnedObject, Step } from '../../../model/target.ts';
import { type HostTargetOptions, whyUnmanaged } from '../host-options.ts';
import { note, toStep } from '../host-step.ts';
import { asJson } from '../owned/owned-state.ts';
import { readWanted } from '../desired/read-wanted.ts';
import { describeTasks, driftedTasks } from '../runner/playbook-report.ts';
import { type OwnedPlaybook, playbookDigest, playbookKey, runPlaybook } from './run-playbook.ts';

export type PlaybookPlan = {
  readonly beforeUnits: readonly Step[];
  readonly afterUnits: readonly Step[];
  readonly owns: readonly OwnedObject[];
};

/**
 * Plans the playbooks by Ansible's check mode. A playbook that changed since its last run is run regardless of the result of
 * its check: check mode skips tasks whose effect it cannot predict. For the same reason one that ran to its end is not run
 * because its check fails. Playbooks that the package no longer has are a note,
 * because nothing undoes them.
 */
export const planPlaybooks = async (
  options: HostTargetOptions,
  desired: DesiredPackage | undefined,
  owned: readonly OwnedObject[],
  signal: AbortSignal,
): Promise<PlaybookPlan> => {
  const before = new Map(
    owned
      .filter(({ key }) => key.startsWith('playbook:'))
      .map(({ key, state }) => [key, state as unknown as OwnedPlaybook]),
  );
  const playbooks = desired ? readWanted(desired).playbooks : [];
  const kept = new Set(playbooks.map(playbookKey));
  const gone = [...before.keys()].filter((key) => !kept.has(key));
  const plans: (Planned & { readonly order: HostPlaybook['order'] })[] = [];
  for (const playbook of playbooks) {
    const known = before.get(playbookKey(playbook));
    const planned = await planOne(options, { playbook, known, desired: desired as DesiredPackage }, signal);
    plans.push({ ...planned, order: playbook.order });
  }
  const stepsOf = (order: HostPlaybook['order']) =>
    plans.filter((it) => it.order === order).map(({ step }) => step);
  return {
    beforeUnits: [
      ...gone.map((key) => note(key, 'skipped', 'no longer in the package; nothing undoes what it did')),
      ...stepsOf('before-units'),
    ],
    afterUnits: stepsOf('after-units'),
    owns: plans.map(({ own }) => own),
  };
};

type Planned = { readonly step: Step; readonly own: OwnedObject };

const planOne = async (
  options: HostTargetOptions,
  {
    playbook,
    known,
    desired,
  }: {
    readonly playbook: HostPlaybook;
    readonly known: OwnedPlaybook | undefined;
    readonly desired: DesiredPackage;
  },
  signal: AbortSignal,
): Promise<Planned> => {
  const key = playbookKey(playbook);
  const own = (state: OwnedPlaybook): OwnedObject => ({ key, state: asJson(state) });
  const inert = whyUnmanaged(options);
  const notRun: OwnedPlaybook = { applied: null, unstable: [] };
  if (inert) return { step: note(key, 'skipped', `not run: ${inert}`), own: own(known ?? notRun) };
  const isApplied = known?.applied === playbookDigest(playbook, readWanted(desired));
  const checked = await runPlaybook(options, playbook, { desired, mode: 'check' }, signal);
  const changed = checked.report ? driftedTasks(checked.report, isApplied ? known.unstable : []) : [];
  const found =
    changed.length === 0
      ? 'its check finds nothing to change'
      : `its check would change ${describeTasks(changed)}`;
  const says = checked.outcome === 'succeeded' ? found : `it cannot be checked: ${checked.message}`;
  // A check that fails does not say that the host differs: what ran to its end is not run again for it.
  if (isApplied && changed.length === 0) return { step: note(key, 'unchanged', says), own: own(known) };
  const unlike = known ? 'differs from what ran last; ' : 'new; ';
  const why = isApplied ? '' : unlike;
  const step = toStep(key, known ? 'configured' : 'created', `${why}${says}`, {
    kind: 'playbook',
    detail: { name: playbook.name },
  });
  // Only a run to its end says that it is applied: until then every plan runs it again.
  return { step, own: own(notRun) };
};
