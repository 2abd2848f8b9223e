import { startDemo } from '../examples/demo/start-demo.ts';
import { rmSync, mkdirSync } from 'node:fs';
rmSync('/dev/shm/hub-demo', { recursive: true, force: true }); mkdirSync('/dev/shm/hub-demo');
const t0 = process.cpuUsage();
const demo = await startDemo({ sites: Number(process.env['SITES'] ?? 31), folder: '/dev/shm/hub-demo', page: '/dev/shm/hub-programs/scheduler/scheduler/page/dist', port: 0, now: new Date('2026-11-21T08:00:00Z') });
const u = process.cpuUsage(t0); console.log('demo start cpu', (u.user + u.system) / 1e6);
await demo[Symbol.asyncDispose]();
