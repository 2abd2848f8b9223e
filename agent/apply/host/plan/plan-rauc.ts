import { defined } from '#bundles/defined';
import type { HostRauc } from '#bundles/formats/bundle/host-package';
import { FleetError } from '#bundles/errors';
import type { Step } from '../../../model/target.ts';
import { note, toStep } from '../host-step.ts';
import { asJson, type OwnedRauc, RAUC_KEY } from '../owned/owned-state.ts';
import { describeSlot, isNext, type RaucState, readRauc, type Slot } from '../rauc/read-rauc.ts';
import { whyNoRauc } from '../rauc/why-no-rauc.ts';
import type { Part, PlanContext } from './plan-context.ts';

/** Key of the step that reboots. */
const REBOOT = 'rauc:reboot';

/**
 * Plans the system of the host: RAUC writes the bundle into the slot that is not booted, and the host boots it. The way back from a package
 * that failed leads to the slot that the host ran before. What the boot loader or a person booted since is reported and left as it is, so that
 * no correction reboots a host.
 * @param ranBefore as of DesiredPackage
 * @throws FleetError RAUC_BLOCKED, RAUC_FAILED, TOOL_MISSING
 */
export const planRauc = async (
  { options, wanted, owned, signal }: Pick<PlanContext, 'options' | 'wanted' | 'owned' | 'signal'>,
  ranBefore: boolean,
): Promise<Part> => {
  const rauc = wanted?.rauc;
  const own = owned.rauc;
  if (!rauc && !own) return { steps: [], owns: [] };
  const inert = whyNoRauc(options);
  if (inert !== undefined) return { steps: [note(RAUC_KEY, 'skipped', inert)], owns: [] };
  const state = await readRauc(options, signal);
  return rauc ? planSystem(state, rauc, own, ranBefore) : { steps: planGone(state, own), owns: [] };
};

/** Pure: the steps to the system that a package has. @throws FleetError RAUC_FAILED */
export const planSystem = (
  state: RaucState,
  rauc: HostRauc,
  own: OwnedRauc | undefined,
  ranBefore: boolean,
): Part => {
  const { booted } = state;
  const { version, digest, size } = rauc;
  const back = own?.provisional?.back;
  const owns = (provisional: OwnedRauc['provisional']): Part['owns'] => [
    { key: RAUC_KEY, state: asJson(defined({ version, digest, provisional })) },
  ];
  if (booted.version === version) {
    if (!ranBefore && own?.version === version && own.digest !== digest)
      throw new FleetError(
        'RAUC_FAILED',
        `the release has another bundle of version ${version}, which this host runs`,
        {
          hint: 'Give each bundle a version of its own: the agent compares versions',
        },
      );
    return { steps: keepBooted(state), owns: owns(own?.provisional) };
  }
  if (ranBefore && back === undefined)
    return {
      steps: [note(RAUC_KEY, 'skipped', `${describeOther(booted, version)}; a correction reboots nothing`)],
      owns: owns(undefined),
    };
  const target = state.slots.find(({ name }) => name === back);
  if (ranBefore && target?.version === version)
    return { steps: goBack(state, target), owns: owns(own?.provisional) };
  const reason = `version ${booted.version ?? 'unknown'} -> ${version}`;
  return {
    steps: [
      toStep(RAUC_KEY, 'configured', reason, { kind: 'rauc-install', detail: { version, digest, size } }),
      toStep(REBOOT, 'configured', `reboot into version ${version}`, {
        kind: 'rauc-boot',
        detail: { version },
      }),
    ],
    // RAUC writes the other slot, whatever it had.
    owns: owns({ back: booted.name }),
  };
};

/** Pure: the steps without a package. A first installation that failed goes back to the slot before it. Once it was healthy, the host keeps the system that it runs. */
export const planGone = (state: RaucState, own: OwnedRauc | undefined): readonly Step[] => {
  const back = own?.provisional?.back;
  const target = state.slots.find(({ name }) => name === back);
  if (target) return goBack(state, target);
  return [note(RAUC_KEY, 'skipped', `the host keeps its system, ${describeSlot(state.booted)}`)];
};

const goBack = (state: RaucState, slot: Slot): readonly Step[] => {
  if (state.booted.name === slot.name) return keepBooted(state);
  return [
    activate(state, slot),
    toStep(REBOOT, 'configured', `reboot into ${describeSlot(slot)}`, {
      kind: 'rauc-boot',
      detail: { slot: slot.name },
    }),
  ];
};

/** Keeps the booted slot as the one that the boot loader starts next. */
const keepBooted = (state: RaucState): readonly Step[] =>
  isNext(state, state.booted) ? [note(RAUC_KEY, 'unchanged', 'as desired')] : [activate(state, state.booted)];

const activate = ({ primary }: RaucState, slot: Slot): Step =>
  toStep(RAUC_KEY, 'configured', `next boot ${primary ?? 'unknown'} -> ${describeSlot(slot)}`, {
    kind: 'rauc-activate',
    detail: { slot: slot.name },
  });

/** Equal for equal states, as the agent compares messages. */
export const describeOther = (booted: Slot, version: string): string =>
  `the host runs ${describeSlot(booted)}, not version ${version}`;
