import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../../harness/run/describe-with.ts';
import { LONG } from '../../harness/run/long.ts';
import { build, KEY, type PlaybooksHost, setup, startPlaybooksHost, tasks } from './playbooks-host/world.ts';

/** A task for each collection, a module or a filter of it, that changes something on a fresh host; in their order. */
const TASKS = [
  [
    'ansible.posix',
    '    - name: login\n      ansible.posix.authorized_key: {user: root, key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFbf1EiQsTFPTt+8Nf1xvkC1nzDAKfrMKWRfJdzRR4Pd"}\n',
  ],
  [
    'ansible.utils',
    `    - name: paths\n      copy: {dest: /etc/press.paths, content: "{{ {'line': {'speed': 3}} | ansible.utils.to_paths }}"}\n`,
  ],
  [
    'community.crypto',
    '    - name: key\n      community.crypto.openssl_privatekey: {path: /etc/press.key, type: Ed25519}\n',
  ],
  [
    'community.dns',
    `    - name: domain\n      copy: {dest: /etc/press.domain, content: "{{ 'press.plant.co.uk' | community.dns.get_registrable_domain }}"}\n`,
  ],
  [
    'community.general',
    '    - name: ini\n      community.general.ini_file: {path: /etc/press.ini, section: press, option: line, value: "7", mode: "0644"}\n',
  ],
] as const;

/** One with a module and one with a filter; the large ones are part of the long run. */
const TRIED = LONG ? TASKS : TASKS.slice(0, 2);

describeWith(
  ['factoryBase', 'ansible', 'ansibleCollections'],
  'collections as their authors publish them, on a booted host without network',
  ({ factoryBase, ansibleCollections }) => {
    let world: PlaybooksHost;
    beforeAll(async () => {
      world = await startPlaybooksHost('collections', factoryBase);
    });
    afterAll(() => world?.host.remove());

    it('the check says what the run then changes, and a second run changes nothing', async () => {
      const tarballs = await Promise.all(
        TRIED.map(
          async ([name]) =>
            [`${name}.tar.gz`, await readFile(join(ansibleCollections, `${name}.tar.gz`))] as const,
        ),
      );
      const sources = TRIED.map(([name]) => `{source: ${name}.tar.gz}`).join(', ');
      const built = await build(`${setup()}  collections: [${sources}]\n`, {
        ...Object.fromEntries(tarballs),
        'ansible/site.yml': tasks(TRIED.map(([, task]) => task).join('')),
      });
      expect(await world.plan(built)).toEqual([
        `created ${KEY}: new; its check would change task "login" (site.yml:4), ${LONG ? 'task "paths" (site.yml:6), task "key" (site.yml:8) and 2 more' : 'task "paths" (site.yml:6)'}`,
      ]);
      expect(await world.apply(built)).toEqual([
        `created ${KEY}: ${TRIED.length} changed; a second run would change nothing`,
      ]);
      expect(await world.sh('cat /etc/press.paths; cut -c 1-11 /root/.ssh/authorized_keys')).toBe(
        '{"line.speed": 3}ssh-ed25519',
      );
      if (LONG)
        expect(await world.sh('cat /etc/press.ini /etc/press.domain; head -n 1 /etc/press.key')).toBe(
          '[press]\nline = 7\nplant.co.uk-----BEGIN PRIVATE KEY-----',
        );
      // Ansible alone, with what the package placed.
      const placed = KEY.slice('playbook:'.length);
      const recap = await world.sh(`cd /var/lib/fleet-ferry/ansible/clock-host
        for tarball in $(find . -name '*.tar.gz'); do
          name=$(tar -xOf $tarball MANIFEST.json | python3 -c 'import json, sys; i = json.load(sys.stdin)["collection_info"]; print(i["namespace"], i["name"], sep="/")')
          mkdir -p /root/collections/ansible_collections/$name
          tar -xf $tarball -C /root/collections/ansible_collections/$name
        done
        ANSIBLE_COLLECTIONS_PATH=/root/collections ansible-playbook -c local -i localhost, ${placed}/site.yml 2>&1 | tail -n 12`);
      expect(recap).toMatch(new RegExp(`ok=${TRIED.length} +changed=0 +unreachable=0 +failed=0`));
    });
  },
);
