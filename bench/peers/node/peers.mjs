// Answers hybrid queries from sqlite-vec + FTS5 and from LanceDB over data that the Go side
// wrote to a folder. Reads lines "<peer> <number of a query>", writes "<nanoseconds> <row> ...";
// the time is the query's alone, without this conversation.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import Database from "better-sqlite3";
import * as sqliteVec from "sqlite-vec";
import * as lancedb from "@lancedb/lancedb";

const dir = process.argv[2];
const { n, dim, queries, k, depth } = JSON.parse(readFileSync(join(dir, "meta.json"), "utf8"));
const floats = (name) => {
  const b = readFileSync(join(dir, name));
  return new Float32Array(b.buffer, b.byteOffset, b.byteLength / 4);
};
const rows = floats("rows.f32");
const asked = floats("queries.f32");
const texts = readFileSync(join(dir, "texts.txt"), "utf8").split("\n");
const words = readFileSync(join(dir, "words.txt"), "utf8").split("\n");
const row = (i) => rows.subarray(i * dim, (i + 1) * dim);
const query = (i) => asked.subarray(i * dim, (i + 1) * dim);
const log = (s) => process.stderr.write(s + "\n");

function fuse(lists) {
  const scores = new Map();
  for (const list of lists) {
    list.forEach((id, i) => scores.set(id, (scores.get(id) ?? 0) + 1 / (61 + i)));
  }
  return [...scores].sort((a, b) => b[1] - a[1] || b[0] - a[0]).slice(0, k).map((e) => e[0]);
}

function sqlite() {
  const db = new Database(join(dir, "peer.sqlite"));
  sqliteVec.load(db);
  db.pragma("journal_mode = off");
  db.pragma("cache_size = -1000000");
  db.exec(`create virtual table vec using vec0(embedding float[${dim}] distance_metric=cosine);
           create virtual table fts using fts5(text, content='')`);
  const v = db.prepare("insert into vec(rowid, embedding) values (?, ?)");
  const f = db.prepare("insert into fts(rowid, text) values (?, ?)");
  db.transaction(() => {
    for (let i = 0; i < n; i++) {
      const r = row(i);
      v.run(BigInt(i), Buffer.from(r.buffer, r.byteOffset, r.byteLength));
      f.run(BigInt(i), texts[i]);
    }
  })();
  db.exec("insert into fts(fts) values ('optimize')");
  const near = db.prepare("select rowid from vec where embedding match ? and k = ? order by distance").pluck();
  const find = db.prepare("select rowid from fts where fts match ? order by rank limit ?").pluck();
  return async (i) => {
    const q = query(i);
    const a = near.all(Buffer.from(q.buffer, q.byteOffset, q.byteLength), depth);
    const b = find.all(words[i].split(" ").map((w) => `"${w}"`).join(" OR "), depth);
    return fuse([a, b]);
  };
}

async function lance() {
  const db = await lancedb.connect(join(dir, "peer.lance"));
  let table;
  const batch = 10000;
  for (let lo = 0; lo < n; lo += batch) {
    const data = [];
    for (let i = lo; i < Math.min(lo + batch, n); i++) {
      data.push({ id: i, text: texts[i], vector: Array.from(row(i)) });
    }
    if (table) await table.add(data);
    else table = await db.createTable("chunks", data);
  }
  await table.optimize();
  await table.createIndex("vector", { config: lancedb.Index.ivfPq({ distanceType: "cosine" }) });
  await table.createIndex("text", { config: lancedb.Index.fts() });
  const reranker = await lancedb.rerankers.RRFReranker.create(60);
  return async (i) => {
    const hits = await table.query().nearestTo(query(i)).distanceType("cosine").fullTextSearch(words[i], { columns: ["text"] })
      .rerank(reranker).select(["id"]).limit(k).toArray();
    return hits.map((h) => Number(h.id));
  };
}

const peers = {};
const names = process.argv.slice(3);
for (const name of names.length ? names : ["sqlite", "lance"]) {
  const start = process.hrtime.bigint();
  peers[name] = await { sqlite, lance }[name]();
  log(`${name} built in ${Number(process.hrtime.bigint() - start) / 1e9} s`);
}
console.log("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const [name, i] = line.split(" ");
  const start = process.hrtime.bigint();
  const ids = await peers[name](Number(i));
  const took = process.hrtime.bigint() - start;
  console.log(`${took} ${ids.join(" ")}`);
}
