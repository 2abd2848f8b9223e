import { describe, expect, it } from 'vitest';
import {
  describePackage,
  formatVersion,
} from '../../../../../scheduler/hub/questions/history/describe-package.ts';

const FILES = new Map([
  [
    'web.yaml',
    Buffer.from(
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, labels: {app.kubernetes.io/version: "1.9"}}\n',
    ),
  ],
]);
const manifests = 'b'.repeat(40);

describe('the displayed version of a package', () => {
  it("is that of Kalypso's DeploymentDescriptor, with its commit", () => {
    const described = { version: '0.0.1-41', commit: 'a'.repeat(40) };
    const source = { ref: 'v2.4.1', commit: manifests, described };
    expect(formatVersion(describePackage('hello', source, FILES))).toBe('hello 0.0.1-41 (aaaaaaa)');
    const withoutCommit = { ...source, described: { version: '0.0.1-41' } };
    expect(formatVersion(describePackage('hello', withoutCommit, FILES))).toBe('hello 0.0.1-41 (bbbbbbb)');
  });

  it('is the Git tag of the source, otherwise the version label of the objects', () => {
    const tagged = { ref: 'v2.4.1', commit: manifests };
    expect(formatVersion(describePackage('hello', tagged, FILES))).toBe('hello 2.4.1 (bbbbbbb)');
    const branch = { ref: 'main', commit: manifests };
    expect(formatVersion(describePackage('hello', branch, FILES))).toBe('hello 1.9 (bbbbbbb)');
  });
});
