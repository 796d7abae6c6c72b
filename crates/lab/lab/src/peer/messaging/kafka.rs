//! Kafka: its broker on the first host, a client over kafka-clients on each. All of it is from Maven
//! Central.

use super::{
    HostSlot, MessagingSoftware, Program, ServerSlot, Tools,
    client::{ArrivalLog, MessagingClient},
    give_up_soon,
    software::{listening, small_java, start_server},
};
use crate::{
    error::{LabError, Refusal},
    peer::build,
};
use std::{path::Path, process::Command};

const SOURCE: &str = include_str!("../../../peers/KafkaCompany.java");
/// What `org.apache.kafka:kafka_2.13` needs at run time, as Maven resolves it: path and BLAKE3 of each.
const JARS: &str = include_str!("../../../peers/kafka.jars");
const CENTRAL: &str = "https://repo1.maven.org/maven2";
const VERSION: &str = "4.3.1";
const PORT: u16 = 9092;
/// Any: one cluster for each trial.
const CLUSTER: &str = "fanfare-company-trials";
/// One node, that is broker and controller. Documents are longer than its longest message by default.
/// Clients that are out of sight come back: their connections are not closed for being idle.
const SETTINGS: &str = "process.roles=broker,controller\nnode.id=1\n\
    controller.quorum.voters=1@127.0.0.1:9093\ncontroller.listener.names=CONTROLLER\n\
    listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n\
    offsets.topic.replication.factor=1\ntransaction.state.log.replication.factor=1\n\
    message.max.bytes=2000000\nnum.partitions=1\nauto.create.topics.enable=true\n\
    connections.max.idle.ms=1800000\n";

#[derive(Debug)]
struct Kafka {
    class_path: String,
    version: String,
}

pub(super) fn prepare(tools: &Tools) -> Result<Box<dyn MessagingSoftware>, LabError> {
    build::output("java", "default-jre-headless", &["-version"])?;
    let mut jars = Vec::new();
    for (path, hash) in JARS.lines().filter_map(|line| line.split_once(' ')) {
        let name = path.rsplit('/').next().unwrap_or(path);
        let jar = tools.fetched(name, &format!("{CENTRAL}/{path}"), hash)?;
        jars.push(jar.display().to_string());
    }
    let jars = jars.join(":");
    let classes = tools.classes("KafkaCompany.java", SOURCE, Path::new(&jars))?;
    let class_path = format!("{}:{jars}", classes.display());
    let version = build::with_settings(VERSION, &[SOURCE, JARS, include_str!("kafka.rs")]);
    Ok(Box::new(Kafka { class_path, version }))
}

impl MessagingSoftware for Kafka {
    fn version(&self) -> &str {
        &self.version
    }
    fn serve(&self, slot: ServerSlot<'_>) -> Result<Option<Program>, LabError> {
        let ServerSlot { host, directory, .. } = slot;
        let (file, logs) = (directory.join("kafka.properties"), directory.join("kafka"));
        let plain = format!("PLAINTEXT://{}:{PORT}", host.address());
        let settings = format!(
            "{SETTINGS}listeners={plain},CONTROLLER://127.0.0.1:9093\nadvertised.listeners={plain}\n\
             log.dirs={}\n",
            logs.display()
        );
        std::fs::write(&file, &settings)
            .map_err(|error| LabError::system(format_args!("file ({})", file.display()), &error))?;
        self.format(&file)?;
        let start = || {
            let mut command = host.command("java");
            command.args(["-Xmx256m", "-XX:+UseSerialGC", "-cp", &self.class_path]);
            command.arg("kafka.Kafka").arg(&file);
            command
        };
        let broker = start_server((&file, &settings), start, slot)?;
        listening(("kafka", PORT), host, broker)
    }
    fn start(&self, post: HostSlot<'_>, hearing: ArrivalLog) -> Result<MessagingClient, LabError> {
        give_up_soon(post.host)?;
        let mut command = small_java(post.host, &self.class_path);
        command.arg("KafkaCompany").arg(format!("{}:{PORT}", post.server.address()));
        command.args(post.wants);
        MessagingClient::of_program(command, &post.file("log"), hearing)
    }
}

impl Kafka {
    /// Its directory, as a broker of a new cluster finds it.
    fn format(&self, settings: &Path) -> Result<(), LabError> {
        let mut command = Command::new("java");
        command.args([
            "-XX:TieredStopAtLevel=1",
            "-cp",
            &self.class_path,
            "kafka.tools.StorageTool",
        ]);
        // What a broker that is started again has written stays.
        command.args(["format", "--ignore-formatted", "--cluster-id", CLUSTER, "--config"]);
        command.arg(settings);
        let done = command.output();
        let why = match done {
            Ok(done) if done.status.success() => return Ok(()),
            Ok(done) => String::from_utf8_lossy(&done.stderr).trim().to_owned(),
            Err(error) => error.to_string(),
        };
        let text = format!("peer (kafka): its directory cannot be made ({why})");
        Err(LabError::new(Refusal::System, "lab.peer", text))
    }
}
