import { FleetError } from '#bundles/errors';
import { factValue } from '#bundles/formats/medium/fact-value';
import type { HostLine, Hosts } from '#bundles/formats/medium/hosts';
import type { HostFacts } from '#bundles/trust/root/host-facts';

/**
 * Finds the line of a hosts file whose facts all match this machine.
 * @param file name of the file for messages
 * @throws FleetError HOST_UNLISTED if no line matches, or more than one
 */
export const findHostLine = ({ hosts }: Hosts, facts: HostFacts, file: string): HostLine => {
  const own = hosts.filter(({ match }) =>
    Object.entries(match).every(([fact, value]) => isFact(facts, fact, value)),
  );
  const [line] = own;
  if (line && own.length === 1) return line;
  const asked = [...new Set(hosts.flatMap(({ match }) => Object.keys(match)))];
  const machine = asked
    .map((fact) => `${fact} ${JSON.stringify(valuesOf(facts, fact).join(' '))}`)
    .join(', ');
  throw new FleetError(
    'HOST_UNLISTED',
    `${file} has ${own.length === 0 ? 'no line' : `${own.length} lines`} for this machine, whose facts are ${machine}`,
    { hint: 'Add it to the CSV of hosts, or correct its line, and create the file again' },
  );
};

/** Letter case differs between firmware and the labels on machines, and a file by hand spells addresses in its own way. */
const isFact = (facts: HostFacts, fact: string, value: string): boolean => {
  const wanted = (factValue(fact, value) ?? value).toLowerCase();
  return valuesOf(facts, fact).some((one) => one.toLowerCase() === wanted);
};

/** A machine has several network interfaces, each with an address that it can be known by. */
const valuesOf = (facts: HostFacts, fact: string): readonly string[] =>
  fact === 'mac' ? (facts['macs'] ?? '').split(' ') : [facts[fact] ?? ''];
